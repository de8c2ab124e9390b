# shellcheck shell=bash disable=SC2154
# Waiting for nodes: until they listen, and until they stand together.

# How long they may take, in seconds: much, for machines that are busy compiling.
patience=300

# Fills the list that it is given with those of the nodes that run and are not frozen.
awake() {
  local -n found=$1
  local node
  shift
  found=()
  for node in "$@"; do
    if running "$node" && ! frozen "$node"; then found+=("$node"); fi
  done
}

await_listening() {
  local node=$1 end=$((SECONDS + patience))
  until listens "$(address "$node")"; do
    running "$node" || died "$node"
    ((SECONDS < end)) || { last_words "$node"; fail "$node does not answer after $patience s"; }
    sleep 0.2
  done
}

# Waits until the nodes answer, and know each other.
await() {
  local kind=$1 node places=() why='' end
  shift
  for node in "$@"; do
    await_listening "$node"
    case $kind in
      cassandra) places+=("$(address "$node")") ;;
      nats) places+=("$(address "$node"):$(nats_port nats_monitor_port "${node#nats}")") ;;
    esac
  done
  end=$((SECONDS + patience))
  until why=$(python3 -B "$parts/ask.py" "$kind" "${places[@]}" 2>&1); do
    for node in "$@"; do running "$node" || died "$node"; done
    ((SECONDS < end)) || fail "no agreement after $patience s: $why"
    sleep 0.5
  done
}

# Waits for all nodes of a kind that are awake. Without a majority JetStream answers nobody.
await_awake() {
  local up
  case $1 in
    cassandra) awake up "${cassandras[@]}" ;;
    nats) awake up "${logs[@]}"; [ "${#up[@]}" -ge 2 ] || return 0 ;;
  esac
  await "$1" "${up[@]}"
}
