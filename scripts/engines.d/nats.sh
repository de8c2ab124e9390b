# shellcheck shell=bash disable=SC2154
# Settings of a NATS node with JetStream. Every write is synced before it is acknowledged.

nats_port() { echo $((${setting[$1]} + $2 - 1)); }
nats_address() { echo "127.0.0.1:$(nats_port nats_port "$1")"; }
nats_monitor_address() { echo "127.0.0.1:$(nats_port nats_monitor_port "$1")"; }

nats_endpoints() {
  local name
  for name in nats_port nats_monitor_port nats_route_port; do echo "127.0.0.1:$(nats_port $name "$1")"; done
}

nats_settings() {
  local number=$1 peer routes=() tls=''
  for peer in 1 2 3; do routes+=("\"nats://127.0.0.1:$(nats_port nats_route_port "$peer")\""); done
  if is_secure; then
    tls="tls {
  cert_file: \"$secrets/nats$number.pem\"
  key_file: \"$secrets/nats$number.key\"
  ca_file: \"$secrets/ca.pem\"
  verify: true
  # Generous, like Cassandra's timeouts.
  timeout: 10
}"
    echo "$tls"
    echo "authorization { users: [{nkey: $(cat "$secrets/nats.user")}] }"
  fi
  cat <<CONF
server_name: nats$number
listen: "$(nats_address "$number")"
http: "$(nats_monitor_address "$number")"
max_payload: 1MB
jetstream {
  store_dir: "$dir/nats$number/store"
  sync_interval: always
  max_mem: 64M
  max_file: 4G
}
cluster {
  name: tofrom
  listen: "127.0.0.1:$(nats_port nats_route_port "$number")"
  routes: [$(IFS=,; echo "${routes[*]}")]
  $tls
}
CONF
}

nats_launch() {
  local number=$1 node=nats$1 folder=$dir/nats$1
  mkdir -p "$folder/store"
  nats_settings "$number" >"$folder/nats.conf"
  launch "$node" "$nats_server" -c "$folder/nats.conf"
}
