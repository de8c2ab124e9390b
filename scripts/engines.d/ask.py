"""Asks the nodes of a cluster whether they stand together; says on standard error why not, with exit code 1.

    ask.py cassandra HOST:PORT...         they know each other, have one schema, and reach one another
    ask.py nats HOST:PORT:MONITOR...      JetStream answers through each of them, and every stream has a leader

Speaks just enough of both protocols, so that no client needs to be installed.
"""

import json
import socket
import struct
import sys
import urllib.request
import uuid

PATIENCE = 12
ERROR, STARTUP, READY, QUERY, RESULT = 0x00, 0x01, 0x02, 0x07, 0x08
WITHOUT_METADATA = 0x02
# Replicated threefold, and there from the beginning. A level of consistency that is a number (ONE, TWO, THREE) has that
# number for its code.
REPLICATED = "SELECT status FROM system_distributed.view_build_status WHERE keyspace_name = 'a' AND view_name = 'a'"


class Apart(Exception):
    """Why they do not stand together."""


class Cassandra:
    """A connection to one node, in version 4 of CQL's protocol."""

    def __init__(self, host, port):
        self.wire = socket.create_connection((host, port), timeout=PATIENCE)
        self.input = self.wire.makefile("rb")
        words = b"".join(struct.pack("!H", len(word)) + word for word in (b"CQL_VERSION", b"3.0.0"))
        self.request(STARTUP, struct.pack("!H", 1) + words, READY)

    def request(self, operation, body, expected):
        self.wire.sendall(struct.pack("!BBhBi", 4, 0, 0, operation, len(body)) + body)
        _, _, _, answered, length = struct.unpack("!BBhBi", self.input.read(9))
        answer = self.input.read(length)
        if answered == ERROR:
            raise Apart(answer[6 : 6 + struct.unpack_from("!H", answer, 4)[0]].decode())
        if answered != expected:
            raise Apart(f"operation {operation} was answered with {answered}")
        return answer

    def rows(self, query, consistency=1):
        text = query.encode()
        body = struct.pack("!i", len(text)) + text + struct.pack("!HB", consistency, WITHOUT_METADATA)
        answer = self.request(QUERY, body, RESULT)
        _, _, columns, rows = struct.unpack_from("!iiii", answer)
        at, cells = 16, []
        for _ in range(columns * rows):
            length = struct.unpack_from("!i", answer, at)[0]
            cells.append(answer[at + 4 : at + 4 + max(length, 0)])
            at += 4 + max(length, 0)
        return [cells[first : first + columns] for first in range(0, len(cells), columns)]


def cassandra(nodes):
    schemas = set()
    for host, port in nodes:
        node = Cassandra(host, port)
        schemas.update(schema for (schema,) in node.rows("SELECT schema_version FROM system.local"))
        peers = node.rows("SELECT native_address, schema_version FROM system.peers_v2")
        known = {socket.inet_ntoa(address): schema for address, schema in peers if len(address) == 4}
        for other, _ in nodes:
            if other != host and other not in known:
                raise Apart(f"{host} does not know {other}")
        # Of nodes that are dead it says what was once.
        schemas.update(known[other] for other, _ in nodes if other != host)
        node.rows(REPLICATED, consistency=len(nodes))
    if len(schemas) != 1:
        raise Apart(f"there are {len(schemas)} versions of the schema")


def nats(nodes):
    for host, port, monitor in nodes:
        # A subject of its own: an answer to somebody else is none to us.
        ours = uuid.uuid4()
        asked = f"SUB {ours} 1\r\nPUB $JS.API.INFO {ours} 0\r\n\r\n"
        with socket.create_connection((host, port), timeout=PATIENCE) as wire:
            wire.sendall(b'CONNECT {"verbose":false}\r\n' + asked.encode())
            wire.settimeout(2)
            for line in wire.makefile("rb"):
                if line.startswith(b"{"):
                    break
            else:
                raise Apart(f"{host}:{port} hung up")
        error = json.loads(line).get("error")
        if error:
            raise Apart(f"{host}:{port} {error}")
        look(host, monitor, "/healthz")
        for account in look(host, monitor, "/jsz?streams=true").get("account_details", []):
            for stream in account.get("stream_detail", []):
                if not stream.get("cluster", {}).get("leader"):
                    raise Apart(f"the stream {stream['name']} has no leader")


def look(host, port, path):
    with urllib.request.urlopen(f"http://{host}:{port}{path}", timeout=PATIENCE) as answer:
        return json.load(answer)


def main():
    kind, *places = sys.argv[1:]
    nodes = [(host, *map(int, ports)) for host, *ports in (place.split(":") for place in places)]
    try:
        {"cassandra": cassandra, "nats": nats}[kind](nodes)
    except (Apart, OSError, struct.error) as why:
        sys.exit(f"{why or type(why).__name__}")


if __name__ == "__main__":
    main()
