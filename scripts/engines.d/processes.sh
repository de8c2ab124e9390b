# shellcheck shell=bash disable=SC2154
# Node processes. Each node has a folder with its process id in `pid` and the start time of the process in `began`, because
# process ids are reused.

# Sets `pid`, `state` and `began` if the process exists. A zombie does not count, unless another thread is left: then its
# ports are still in use.
read_process() {
  local stat threads
  { read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 1
  # The name is in parentheses and may contain any character.
  read -ra stat <<<"${stat##*) }"
  pid=$1 state=${stat[0]} began=${stat[19]}
  threads=("/proc/$1/task/"*)
  [ "$state" != Z ] || [ "${#threads[@]}" -gt 1 ]
}

running() {
  local stored_pid stored_start
  { read -r stored_pid <"$dir/$1/pid" && read -r stored_start <"$dir/$1/began"; } 2>/dev/null &&
    read_process "$stored_pid" && [ "$began" = "$stored_start" ]
}

# Whether a running node is frozen.
frozen() { running "$1" && [ "$state" = T ]; }

running_any() {
  local -n running_nodes=$1
  local node
  shift
  running_nodes=()
  for node in "$@"; do
    if running "$node"; then running_nodes+=("$node"); fi
  done
}

# launch NODE COMMAND...
launch() {
  local node=$1 folder=$dir/$1
  shift
  # A new session, so that Ctrl-C does not reach it; without the lock.
  (
    cd "$folder" || exit
    ulimit -n "$(ulimit -Hn)"
    exec setsid "$@" >>out 2>&1 </dev/null 9>&-
  ) &
  read_process $! || died "$node"
  echo "$began" >"$folder/began"
  echo "$pid" >"$folder/pid"
}

# No error if the process has ended.
signal() {
  if running "$1"; then kill "-$2" "$pid" 2>/dev/null || true; fi
}

kill_node() {
  signal "$1" KILL
  ended_within 30 "$1" || fail "$1 cannot be killed: process $pid"
}

ended_within() {
  local end=$((SECONDS + $1))
  while running "$2"; do
    ((SECONDS < end)) || return 1
    sleep 0.05
  done
}

remove_pid() { rm -f "$dir/$1/pid" "$dir/$1/began"; }

print_logs() {
  local log
  for log in "$dir/$1/log/system.log" "$dir/$1/out"; do
    [ -s "$log" ] || continue
    say "end of $log:"
    tail -n 20 "$log" >&2
  done
}

died() {
  print_logs "$1"
  fail "$1 ended unexpectedly"
}

# listens HOST:PORT
listens() { (exec 3<>"/dev/tcp/${1%:*}/${1#*:}") 2>/dev/null; }

footprint() {
  local kilobytes
  running "$1" || return 0
  kilobytes=$(sed -n 's/^VmRSS:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$pid/status")
  echo "  process $pid, $((${kilobytes:-0} / 1024)) MB"
}
