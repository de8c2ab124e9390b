# shellcheck shell=bash disable=SC2154
# A node of NATS with JetStream, which has every write on disk before it acknowledges.

nats_port() { echo $((${setting[$1]} + $2 - 1)); }
nats_address() { echo "127.0.0.1:$(nats_port nats_port "$1")"; }

nats_places() {
  local name
  for name in nats_port nats_monitor_port nats_route_port; do echo "127.0.0.1:$(nats_port $name "$1")"; done
}

nats_settings() {
  local number=$1 one routes=()
  for one in 1 2 3; do routes+=("\"nats://127.0.0.1:$(nats_port nats_route_port "$one")\""); done
  cat <<CONF
server_name: nats$number
listen: "$(nats_address "$number")"
http: "127.0.0.1:$(nats_port nats_monitor_port "$number")"
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
}
CONF
}

nats_launch() {
  local number=$1 node=nats$1 place=$dir/nats$1
  mkdir -p "$place/store"
  nats_settings "$number" >"$place/nats.conf"
  launch "$node" "$nats_server" -c "$place/nats.conf"
}
