# shellcheck shell=bash disable=SC2154
# What the nodes were started with: the environment's word, or what was kept in the folder, or the default.

declare -A setting=()
declare -A standard=(
  [hosts]='127.0.0.1 127.0.0.2 127.0.0.3' [cql_port]=19042 [storage_port]=17000
  [nats_port]=14221 [nats_monitor_port]=18221 [nats_route_port]=16221
)

settled() { [ -e "$dir/settings" ]; }

# Fills `setting`. Nodes know each other by these addresses, also on disk, so nobody may change them in between.
recall() {
  local name value variable
  if settled; then
    while IFS='=' read -r name value; do setting[$name]=$value; done <"$dir/settings"
  fi
  for name in "${!standard[@]}"; do
    variable=TOFROM_ENGINES_${name^^}
    value=${!variable:-}
    if settled && [ -n "$value" ] && [ "$value" != "${setting[$name]}" ]; then
      fail "the cluster in $dir has ${setting[$name]} for $variable, not $value: another TOFROM_ENGINES_DIR, or down --wipe"
    fi
    setting[$name]=${value:-${setting[$name]:-${standard[$name]}}}
  done
}

# Decides how the nodes run, and writes everything down. settle VM SYNC HOW-MANY-RUN
settle() {
  local vm=$1 sync=$2 name
  if [ "$3" -gt 0 ]; then
    for name in vm sync; do
      if [ -n "${!name}" ] && [ "${!name}" != "${setting[$name]}" ]; then
        fail "it runs with --${setting[vm]} --sync ${setting[sync]}: scripts/engines down first"
      fi
    done
  else
    setting[vm]=${vm:-fast} setting[sync]=${sync:-group}
  fi
  for name in "${!setting[@]}"; do echo "$name=${setting[$name]}"; done >"$dir/settings.new"
  mv "$dir/settings.new" "$dir/settings"
}

# One at a time: two that start the same node would ruin its data.
alone() {
  mkdir -p "$dir"
  exec 9>"$dir/lock"
  flock -n 9 || { say "waiting for another scripts/engines"; flock 9; }
  # The other one may have changed them.
  recall
}
