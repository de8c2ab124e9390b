# shellcheck shell=bash disable=SC2154
# Prints the addresses of the cluster: for people, for the tests, and as settings of the service.

# listed PREFIX FUNCTION ARGUMENT...: the addresses of three nodes, with this prefix and separated by commas.
listed() {
  local prefix=$1 number addresses=()
  shift
  for number in 1 2 3; do addresses+=("$prefix$("$@" "$number")"); done
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

tls_settings() {
  printf '[%s.tls]\nca = "%s"\ncertificate = "%s"\nprivate_key = "%s"\n' "$1" "$secrets"/{ca.pem,client.pem,client.key}
}

print_settings() {
  [ $# -eq 1 ] || usage_error "settings needs one argument: KEYSPACE"
  has_settings || fail "no cluster in $dir: run scripts/engines up"
  echo 'store = "cql"'
  printf '[cql]\nnodes = [%s]\ndatacenter = "datacenter1"\nkeyspace = "%s"\n' "$(quoted '' cassandra_address)" "$1"
  if is_secure; then
    printf 'user = "tofrom"\npassword_file = "%s/cql.password"\n' "$secrets"
    tls_settings cql
  fi
  local scheme=nats
  ! is_secure || scheme=tls
  printf '[nats]\nservers = [%s]\nmonitor = [%s]\n' "$(quoted $scheme:// nats_address)" "$(quoted http:// nats_monitor_address)"
  if is_secure; then
    printf 'credentials = "%s/nats.nkey"\n' "$secrets"
    tls_settings nats
  fi
}
