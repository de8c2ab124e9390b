"""Checks that the nodes of a cluster are healthy. If not, prints the reason on standard error and exits with code 1.

    check_nodes.py cassandra HOST:PORT...      all nodes know each other, have one schema, and can reach each other
    check_nodes.py nats HOST:PORT:MONITOR...   JetStream responds at each node, and every stream has a leader
    check_nodes.py roles HOST:PORT             creates the roles of a secure cluster

With `--secure DIR` before them it uses the secrets in that folder. Implements just enough of both protocols, so that no
client needs to be installed.
"""

import base64
import json
import pathlib
import secrets
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import urllib.request
import uuid

TIMEOUT = 12
ERROR, STARTUP, READY, AUTHENTICATE, QUERY, RESULT = 0x00, 0x01, 0x02, 0x03, 0x07, 0x08
AUTH_RESPONSE, AUTH_SUCCESS = 0x0F, 0x10
WITHOUT_METADATA = 0x02
# A table with three replicas that always exists. The code of a numeric consistency level (ONE, TWO, THREE) is the number.
REPLICATED = "SELECT status FROM system_distributed.view_build_status WHERE keyspace_name = 'a' AND view_name = 'a'"


class Unhealthy(Exception):
    """The reason why a cluster is not healthy."""


class Secure:
    """The secrets of a secure cluster."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    def tls(self):
        context = ssl.create_default_context(cafile=self.folder / "ca.pem")
        context.load_cert_chain(self.folder / "client.pem", self.folder / "client.key")
        return context

    def password(self, name):
        return (self.folder / f"{name}.password").read_text().strip()

    def nats_login(self, nonce):
        with tempfile.NamedTemporaryFile() as signed:
            signed.write(nonce.encode())
            signed.flush()
            command = ["openssl", "pkeyutl", "-sign", "-rawin", "-inkey", self.folder / "nkey.pem", "-in", signed.name]
            signature = subprocess.run(command, check=True, capture_output=True).stdout
        user = (self.folder / "nats.user").read_text().strip()
        return {"nkey": user, "sig": base64.urlsafe_b64encode(signature).decode().rstrip("=")}


class Cassandra:
    """A connection to one node, in version 4 of the CQL protocol. With `secure` it uses TLS and logs in."""

    def __init__(self, host, port, secure=None, login=None):
        self.wire = socket.create_connection((host, port), timeout=TIMEOUT)
        if secure:
            self.wire = secure.tls().wrap_socket(self.wire, server_hostname=host)
        self.input = self.wire.makefile("rb")
        words = b"".join(struct.pack("!H", len(word)) + word for word in (b"CQL_VERSION", b"3.0.0"))
        self.request(STARTUP, struct.pack("!H", 1) + words, AUTHENTICATE if secure else READY)
        if secure:
            user, password = login or ("admin", secure.password("admin"))
            token = f"\0{user}\0{password}".encode()
            self.request(AUTH_RESPONSE, struct.pack("!i", len(token)) + token, AUTH_SUCCESS)

    def request(self, operation, body, expected):
        self.wire.sendall(struct.pack("!BBhBi", 4, 0, 0, operation, len(body)) + body)
        _, _, _, opcode, length = struct.unpack("!BBhBi", self.input.read(9))
        response = self.input.read(length)
        if opcode == ERROR:
            raise Unhealthy(response[6 : 6 + struct.unpack_from("!H", response, 4)[0]].decode())
        if opcode != expected:
            raise Unhealthy(f"unexpected response {opcode} to operation {operation}")
        return response

    def execute(self, query, consistency=1):
        text = query.encode()
        body = struct.pack("!i", len(text)) + text + struct.pack("!HB", consistency, WITHOUT_METADATA)
        return self.request(QUERY, body, RESULT)

    def rows(self, query, consistency=1):
        response = self.execute(query, consistency)
        _, _, columns, rows = struct.unpack_from("!iiii", response)
        at, cells = 16, []
        for _ in range(columns * rows):
            length = struct.unpack_from("!i", response, at)[0]
            cells.append(response[at + 4 : at + 4 + max(length, 0)])
            at += 4 + max(length, 0)
        return [cells[first : first + columns] for first in range(0, len(cells), columns)]


def roles(nodes, secure):
    """Replaces Cassandra's default role by `admin` and `tofrom`. Can be repeated after an interruption."""
    host, port = nodes[0]
    try:
        default = Cassandra(host, port, secure, ("cassandra", "cassandra"))
        default.execute(f"CREATE ROLE IF NOT EXISTS admin WITH {login_of(secure.password('admin'))} AND SUPERUSER = true")
    except Unhealthy:
        # It was replaced before, or it does not exist yet, and the next login fails.
        pass
    admin = Cassandra(host, port, secure)
    (replication,), = admin.rows("SELECT replication FROM system_schema.keyspaces WHERE keyspace_name = 'system_auth'")
    # It ends with the factor, which is raised last: after that the other steps would need a quorum.
    if replication.endswith(b"3"):
        return
    admin.execute(f"CREATE ROLE IF NOT EXISTS tofrom WITH {login_of(secure.password('cql'))}")
    for permission in ("CREATE", "ALTER", "DROP", "SELECT", "MODIFY"):
        admin.execute(f"GRANT {permission} ON ALL KEYSPACES TO tofrom")
    # Cassandra's keyspaces are not among them. The service checks the node's settings there.
    admin.execute("GRANT SELECT ON KEYSPACE system_views TO tofrom")
    admin.execute(f"ALTER ROLE cassandra WITH LOGIN = false AND PASSWORD = '{secrets.token_hex()}'")
    replicas = "{'class': 'SimpleStrategy', 'replication_factor': 3}"
    admin.execute(f"ALTER KEYSPACE system_auth WITH replication = {replicas}")


def login_of(password):
    return f"LOGIN = true AND PASSWORD = '{password}'"


def cassandra(nodes, secure):
    schemas = set()
    for host, port in nodes:
        node = Cassandra(host, port, secure)
        if secure:
            # Reading all replicas also copies the rows to nodes that have joined: permissions first, because the nodes
            # cache them from the first login of a role.
            for table in ("role_permissions", "roles"):
                node.rows(f"SELECT * FROM system_auth.{table}", consistency=len(nodes))
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


def nats(nodes, secure):
    for host, port, monitor in nodes:
        with socket.create_connection((host, port), timeout=TIMEOUT) as wire:
            line = jetstream_info(wire, host, secure)
        if not line:
            raise Unhealthy(f"{host}:{port} closed the connection")
        error = json.loads(line).get("error")
        if error:
            raise Unhealthy(f"{host}:{port} {error}")
        get_json(host, monitor, "/healthz")
        for account in get_json(host, monitor, "/jsz?streams=true").get("account_details", []):
            for stream in account.get("stream_detail", []):
                if not stream.get("cluster", {}).get("leader"):
                    raise Unhealthy(f"the stream {stream['name']} has no leader")


def jetstream_info(wire, host, secure):
    """The response of JetStream, or nothing if the server closes the connection."""
    info = json.loads(wire.makefile("rb", buffering=0).readline().split(b" ", 1)[1])
    login = {}
    if secure:
        wire = secure.tls().wrap_socket(wire, server_hostname=host)
        login = secure.nats_login(info["nonce"])
    # A unique subject: responses to other clients are not received.
    inbox = uuid.uuid4()
    commands = f"SUB {inbox} 1\r\nPUB $JS.API.INFO {inbox} 0\r\n\r\n"
    wire.sendall(f"CONNECT {json.dumps({'verbose': False, **login})}\r\n{commands}".encode())
    wire.settimeout(2)
    return next((line for line in wire.makefile("rb") if line.startswith(b"{")), None)


def get_json(host, port, path):
    with urllib.request.urlopen(f"http://{host}:{port}{path}", timeout=TIMEOUT) as response:
        return json.load(response)


def main():
    arguments, secure = sys.argv[1:], None
    if arguments[0] == "--secure":
        secure, arguments = Secure(arguments[1]), arguments[2:]
    kind, *endpoints = arguments
    nodes = [(host, *map(int, ports)) for host, *ports in (endpoint.split(":") for endpoint in endpoints)]
    try:
        {"cassandra": cassandra, "nats": nats, "roles": roles}[kind](nodes, secure)
    except (Unhealthy, OSError, struct.error) as why:
        sys.exit(f"{why or type(why).__name__}")


if __name__ == "__main__":
    main()
