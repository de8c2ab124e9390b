# shellcheck shell=bash disable=SC2154
# Prints the addresses of the cluster: for people, for the tests, and as settings of the service.

# listed PREFIX FUNCTION: the addresses of the nodes of one kind, each with this prefix, separated by commas.
listed() {
  local number numbers=3 addresses=()
  [ "$2" != cassandra_address ] || numbers=${#cassandras[@]}
  for ((number = 1; number <= numbers; number++)); do addresses+=("$1$("$2" "$number")"); done
  local IFS=,
  echo "${addresses[*]}"
}

print_variables() {
  echo "export TOFROM_TEST_CQL='$(listed '' cassandra_address)'"
  echo "export TOFROM_TEST_NATS='$(listed '' nats_address)'"
  echo "export TOFROM_TEST_NATS_MONITOR='$(listed '' nats_monitor_address)'"
  ! is_secure || echo "export TOFROM_TEST_SECURE='$secrets'"
}

print_addresses() {
  local secure=''
  ! is_secure || secure=' --secure'
  echo "Cassandra  $(listed '' cassandra_address | tr , ' ')  datacenter1, --${setting[vm]} --sync ${setting[sync]}$secure"
  echo "NATS       $(listed '' nats_address | tr , ' ')"
  echo "monitors   $(listed http:// nats_monitor_address | tr , ' ')"
  echo "folder     $dir"
  ! is_secure || echo "secrets    $secrets"
}

# Addresses as an array of TOML.
quoted() { listed "$@" | sed 's/[^,]*/"&"/g'; }

print_settings() {
  local scheme=nats cql_login='' nats_login=''
  [ $# -eq 1 ] || usage_error "settings needs one argument: KEYSPACE"
  has_settings || fail "no cluster in $dir: run scripts/engines up"
  if is_secure; then
    scheme=tls
    cql_login="user = \"tofrom\"
password_file = \"$secrets/cql.password\"
[cql.tls]
$(tls_settings)"
    nats_login="credentials = \"$secrets/nats.nkey\"
[nats.tls]
$(tls_settings)"
  fi
  cat <<TOML
store = "cql"
[cql]
nodes = [$(quoted '' cassandra_address)]
datacenter = "datacenter1"
replication = ${#cassandras[@]}
keyspace = "$1"
$cql_login
[nats]
servers = [$(quoted $scheme:// nats_address)]
monitor = [$(quoted http:// nats_monitor_address)]
$nats_login
TOML
}

tls_settings() {
  printf '%s = "%s"\n' ca "$secrets/ca.pem" certificate "$secrets/client.pem" private_key "$secrets/client.key"
}
