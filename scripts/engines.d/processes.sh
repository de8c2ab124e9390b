# shellcheck shell=bash disable=SC2154
# Nodes as processes. Each has a folder with its process id in `pid`, and in `began` when that process began, because
# the number may belong to somebody else by now.

# Sets `pid`, `state` and `began` if there is such a process; one that only waits for its parent to notice its end is none.
# But as long as a thread is left after the first one has ended, its ports are taken.
look() {
  local stat threads
  { read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 1
  # Its name stands in parentheses and may contain anything.
  read -ra stat <<<"${stat##*) }"
  pid=$1 state=${stat[0]} began=${stat[19]}
  threads=("/proc/$1/task/"*)
  [ "$state" != Z ] || [ "${#threads[@]}" -gt 1 ]
}

running() {
  local known since
  { read -r known <"$dir/$1/pid" && read -r since <"$dir/$1/began"; } 2>/dev/null &&
    look "$known" && [ "$began" = "$since" ]
}

# Of one that runs.
frozen() { running "$1" && [ "$state" = T ]; }

running_any() {
  local -n alive_ones=$1
  local node
  shift
  alive_ones=()
  for node in "$@"; do
    if running "$node"; then alive_ones+=("$node"); fi
  done
}

# launch NODE COMMAND...
launch() {
  local node=$1 place=$dir/$1
  shift
  # A session of its own, so that Ctrl-C here does not reach it; without the lock.
  (
    cd "$place" || exit
    ulimit -n "$(ulimit -Hn)"
    exec setsid "$@" >>out 2>&1 </dev/null 9>&-
  ) &
  look $! || died "$node"
  echo "$began" >"$place/began"
  echo "$pid" >"$place/pid"
}

# It may have ended meanwhile; that is not an error.
signal() {
  if running "$1"; then kill "-$2" "$pid" 2>/dev/null || true; fi
}

kill_node() {
  signal "$1" KILL
  gone_within 30 "$1" || fail "$1 cannot be killed: process $pid"
}

gone_within() {
  local end=$((SECONDS + $1))
  while running "$2"; do
    ((SECONDS < end)) || return 1
    sleep 0.05
  done
}

forget() { rm -f "$dir/$1/pid" "$dir/$1/began"; }

last_words() {
  local log
  for log in "$dir/$1/log/system.log" "$dir/$1/out"; do
    [ -s "$log" ] || continue
    say "the end of $log:"
    tail -n 20 "$log" >&2
  done
}

died() {
  last_words "$1"
  fail "$1 has died"
}

# listens HOST:PORT
listens() { (exec 3<>"/dev/tcp/${1%:*}/${1#*:}") 2>/dev/null; }

footprint() {
  local kilobytes
  running "$1" || return 0
  kilobytes=$(sed -n 's/^VmRSS:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$pid/status")
  echo "  process $pid, $((${kilobytes:-0} / 1024)) MB"
}
