"""Checks that the nodes of a cluster are healthy. If not, prints the reason on standard error and exits with code 1.

    check_nodes.py cassandra HOST:PORT...      all nodes know each other, have one schema, and can reach each other
    check_nodes.py nats HOST:PORT:MONITOR...   JetStream responds at each node, and every stream has a leader

Implements just enough of both protocols, so that no client needs to be installed.
"""

import json
import socket
import struct
import sys
import urllib.request
import uuid

TIMEOUT = 12
ERROR, STARTUP, READY, QUERY, RESULT = 0x00, 0x01, 0x02, 0x07, 0x08
WITHOUT_METADATA = 0x02
# A table with three replicas that always exists. The code of a numeric consistency level (ONE, TWO, THREE) is the number.
REPLICATED = "SELECT status FROM system_distributed.view_build_status WHERE keyspace_name = 'a' AND view_name = 'a'"


class Unhealthy(Exception):
    """The reason why a cluster is not healthy."""


class Cassandra:
    """A connection to one node, in version 4 of the CQL protocol."""

    def __init__(self, host, port):
        self.wire = socket.create_connection((host, port), timeout=TIMEOUT)
        self.input = self.wire.makefile("rb")
        words = b"".join(struct.pack("!H", len(word)) + word for word in (b"CQL_VERSION", b"3.0.0"))
        self.request(STARTUP, struct.pack("!H", 1) + words, READY)

    def request(self, operation, body, expected):
        self.wire.sendall(struct.pack("!BBhBi", 4, 0, 0, operation, len(body)) + body)
        _, _, _, opcode, length = struct.unpack("!BBhBi", self.input.read(9))
        response = self.input.read(length)
        if opcode == ERROR:
            raise Unhealthy(response[6 : 6 + struct.unpack_from("!H", response, 4)[0]].decode())
        if opcode != expected:
            raise Unhealthy(f"unexpected response {opcode} to operation {operation}")
        return response

    def rows(self, query, consistency=1):
        text = query.encode()
        body = struct.pack("!i", len(text)) + text + struct.pack("!HB", consistency, WITHOUT_METADATA)
        response = self.request(QUERY, body, RESULT)
        _, _, columns, rows = struct.unpack_from("!iiii", response)
        at, cells = 16, []
        for _ in range(columns * rows):
            length = struct.unpack_from("!i", response, at)[0]
            cells.append(response[at + 4 : at + 4 + max(length, 0)])
            at += 4 + max(length, 0)
        return [cells[first : first + columns] for first in range(0, len(cells), columns)]


def cassandra(nodes):
    schemas = set()
    for host, port in nodes:
        node = Cassandra(host, port)
        schemas.update(schema for (schema,) in node.rows("SELECT schema_version FROM system.local"))
        peers = node.rows("SELECT native_address, schema_version FROM system.peers_v2")
        known = {socket.inet_ntoa(address): schema for address, schema in peers if len(address) == 4}
        for peer, _ in nodes:
            if peer != host and peer not in known:
                raise Unhealthy(f"{host} does not know {peer}")
        # For dead nodes it reports the last known version.
        schemas.update(known[peer] for peer, _ in nodes if peer != host)
        node.rows(REPLICATED, consistency=len(nodes))
    if len(schemas) != 1:
        raise Unhealthy(f"{len(schemas)} schema versions: expected one")


def nats(nodes):
    for host, port, monitor in nodes:
        # A unique subject: responses to other clients are not received.
        inbox = uuid.uuid4()
        commands = f"SUB {inbox} 1\r\nPUB $JS.API.INFO {inbox} 0\r\n\r\n"
        with socket.create_connection((host, port), timeout=TIMEOUT) as wire:
            wire.sendall(b'CONNECT {"verbose":false}\r\n' + commands.encode())
            wire.settimeout(2)
            for line in wire.makefile("rb"):
                if line.startswith(b"{"):
                    break
            else:
                raise Unhealthy(f"{host}:{port} closed the connection")
        error = json.loads(line).get("error")
        if error:
            raise Unhealthy(f"{host}:{port} {error}")
        get_json(host, monitor, "/healthz")
        for account in get_json(host, monitor, "/jsz?streams=true").get("account_details", []):
            for stream in account.get("stream_detail", []):
                if not stream.get("cluster", {}).get("leader"):
                    raise Unhealthy(f"the stream {stream['name']} has no leader")


def get_json(host, port, path):
    with urllib.request.urlopen(f"http://{host}:{port}{path}", timeout=TIMEOUT) as response:
        return json.load(response)


def main():
    kind, *endpoints = sys.argv[1:]
    nodes = [(host, *map(int, ports)) for host, *ports in (endpoint.split(":") for endpoint in endpoints)]
    try:
        {"cassandra": cassandra, "nats": nats}[kind](nodes)
    except (Unhealthy, OSError, struct.error) as why:
        sys.exit(f"{why or type(why).__name__}")


if __name__ == "__main__":
    main()
