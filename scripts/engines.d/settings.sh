# shellcheck shell=bash disable=SC2154
# The settings of the nodes: from the environment, otherwise stored in the folder, otherwise the default.

declare -A setting=()
declare -A defaults=(
  [hosts]='127.0.0.1 127.0.0.2 127.0.0.3' [cql_port]=19042 [storage_port]=17000
  [nats_port]=14221 [nats_monitor_port]=18221 [nats_route_port]=16221
)

has_settings() { [ -e "$dir/settings" ]; }

# Fills `setting`. Nodes store each other's addresses on disk, so the addresses cannot change.
load_settings() {
  local name value variable
  if has_settings; then
    while IFS='=' read -r name value; do setting[$name]=$value; done <"$dir/settings"
  fi
  for name in "${!defaults[@]}"; do
    variable=TOFROM_ENGINES_${name^^}
    value=${!variable:-}
    if has_settings && [ -n "$value" ] && [ "$value" != "${setting[$name]}" ]; then
      fail "the cluster in $dir has $variable=${setting[$name]}, not $value: use another TOFROM_ENGINES_DIR, or run down --wipe"
    fi
    setting[$name]=${value:-${setting[$name]:-${defaults[$name]}}}
  done
  name_nodes
}

# Fills `cassandras` and `nodes`.
name_nodes() {
  cassandras=(cassandra1 cassandra2 cassandra3)
  [ "${setting[databases]:-3}" = 3 ] || cassandras=(cassandra1)
  nodes=("${cassandras[@]}" "${logs[@]}")
}

# Stores the settings. store_settings VM SYNC SECURE NUMBER-OF-RUNNING-NODES
store_settings() {
  local vm=$1 sync=$2 secure=$3 name
  # The data has roles and passwords or has none.
  if has_settings && [ -n "$secure" ] && ! is_secure; then
    fail "the cluster in $dir is not secure: use another TOFROM_ENGINES_DIR, or run down --wipe"
  fi
  has_settings || setting[secure]=${secure:-no}
  if [ "$4" -gt 0 ]; then
    for name in vm sync; do
      if [ -n "${!name}" ] && [ "${!name}" != "${setting[$name]}" ]; then
        fail "the cluster runs with --${setting[vm]} --sync ${setting[sync]}: run scripts/engines down first"
      fi
    done
  else
    setting[vm]=${vm:-fast} setting[sync]=${sync:-group}
  fi
  for name in "${!setting[@]}"; do echo "$name=${setting[$name]}"; done >"$dir/settings.new"
  mv "$dir/settings.new" "$dir/settings"
}

# Locks the folder: two processes that start the same node would corrupt its data.
lock_folder() {
  mkdir -p "$dir"
  exec 9>"$dir/lock"
  flock -n 9 || { say "waiting for another scripts/engines"; flock 9; }
  # The other process may have changed the settings.
  load_settings
}
