# shellcheck shell=bash
# Temporary engines for measurements: in a temporary folder, on free ports.

free_ports() {
  python3 - "$1" <<'PYTHON'
import random, socket, sys
hosts = ["127.0.0.1", "127.0.0.2", "127.0.0.3"]
while True:
    first = random.randrange(20_000, 32_000)
    try:
        for port in range(first, first + int(sys.argv[1])):
            for host in hosts:
                with socket.socket() as probe:
                    probe.bind((host, port))
    except OSError:
        continue
    print(first)
    break
PYTHON
}

# Starts the engines for measurements, exports their addresses, and stops them when this shell exits. `jmx` is an unused
# port. Call it in the repository's root folder, with the options of `up`.
temporary_engines() {
  local first
  first=$(free_ports 12)
  TOFROM_ENGINES_DIR=$(mktemp -d)
  export TOFROM_ENGINES_DIR TOFROM_ENGINES_CQL_PORT=$first TOFROM_ENGINES_STORAGE_PORT=$((first + 1))
  export TOFROM_ENGINES_NATS_PORT=$((first + 2)) TOFROM_ENGINES_NATS_MONITOR_PORT=$((first + 5))
  export TOFROM_ENGINES_NATS_ROUTE_PORT=$((first + 8))
  # shellcheck disable=SC2034
  jmx=$((first + 11))
  trap 'scripts/engines down --wipe; rm -rf "$TOFROM_ENGINES_DIR"' EXIT
  scripts/engines up --measure "$@" >&2
  eval "$(scripts/engines variables)"
}
