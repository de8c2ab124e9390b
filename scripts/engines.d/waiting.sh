# shellcheck shell=bash disable=SC2154
# Waits for nodes: until they listen, and until the cluster is healthy.

# The timeout in seconds: generous, for machines that are busy compiling.
timeout=300

# Fills the named list with the nodes that run and are not frozen.
running_unfrozen() {
  local -n matching=$1
  local node
  shift
  matching=()
  for node in "$@"; do
    if running "$node" && ! frozen "$node"; then matching+=("$node"); fi
  done
}

await_listening() {
  local node=$1 end=$((SECONDS + timeout))
  until listens "$(address "$node")"; do
    running "$node" || died "$node"
    ((SECONDS < end)) || { print_logs "$node"; fail "$node does not respond after $timeout s"; }
    sleep 0.2
  done
}

# Waits until the nodes respond and the cluster is healthy. For the kind `roles` it first creates the roles of a secure
# cluster.
await() {
  local kind=$1 node endpoints=() options=() why='' end
  shift
  ! is_secure || options=(--secure "$secrets")
  for node in "$@"; do
    await_listening "$node"
    case $kind in
      nats) endpoints+=("$(address "$node"):$(nats_port nats_monitor_port "${node#nats}")") ;;
      *) endpoints+=("$(address "$node")") ;;
    esac
  done
  end=$((SECONDS + timeout))
  until why=$(python3 -B "$parts/check_nodes.py" "${options[@]}" "$kind" "${endpoints[@]}" 2>&1); do
    for node in "$@"; do running "$node" || died "$node"; done
    ((SECONDS < end)) || fail "cluster not healthy after $timeout s: $why"
    sleep 0.5
  done
}

# Waits for all running nodes of a kind. Without a majority JetStream does not respond.
await_running() {
  local up
  case $1 in
    cassandra) running_unfrozen up "${cassandras[@]}" ;;
    nats) running_unfrozen up "${logs[@]}"; [ "${#up[@]}" -ge 2 ] || return 0 ;;
  esac
  await "$1" "${up[@]}"
}
