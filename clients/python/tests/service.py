"""The server under test: a demo, and proxies in front of it."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any


def program() -> str:
    """The program under test: `TOFROM`, else the one on the path."""
    found = os.environ.get("TOFROM") or shutil.which("tofrom")
    assert found, "set TOFROM to the tofrom program"
    return found


class Demo:
    """A running demo. Its port stays the same when it is started again."""

    def __init__(self, data: Path) -> None:
        self.data, self.port = data, 0
        self.start()

    def start(self) -> None:
        command = [program(), "demo", "--json", "--listen", f"127.0.0.1:{self.port}", "--data", str(self.data)]
        environment = os.environ | {"TOFROM_LOG": "error"}
        # The shell kills the demo when its standard input ends, so the demo ends with this process in any case.
        shell = ["sh", "-c", '"$@" & pid=$!; cat >/dev/null; kill -9 $pid; wait $pid 2>/dev/null', "sh", *command]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process = subprocess.Popen(shell, **pipes, text=True, env=environment)
        assert self.process.stdout
        line = self.process.stdout.readline()
        assert line, "the demo did not start"
        self.ready: dict[str, Any] = json.loads(line)
        self.base = str(self.ready["base_url"])
        self.ca = str(self.ready["ca_cert"])
        self.port = int(self.base.rpartition(":")[2])

    def kill(self) -> None:
        """Ends it like a crash."""
        self.process.communicate()

    def command(self, *arguments: str) -> None:
        """Runs a command of the program on the demo's folder."""
        subprocess.run([program(), *arguments, "--data", str(self.data)], check=True, capture_output=True)

    def account(self, name: str) -> dict[str, str]:
        return next(account for account in self.ready["accounts"] if account["name"] == name)

    def key(self, name: str) -> str:
        return self.account(name)["key"]


Behaviour = Callable[[socket.socket, bytes, "Proxy"], bool]


def forward(client: socket.socket, piece: bytes, proxy: Proxy) -> bool:
    """Passes bytes of the server on."""
    client.sendall(piece)
    return True


def cut_after(size: int) -> Behaviour:
    """Closes each connection after so many bytes of the server."""

    def behave(client: socket.socket, piece: bytes, proxy: Proxy) -> bool:
        sent = proxy.sent.get(client, 0)
        client.sendall(piece[: size - sent])
        proxy.sent[client] = sent + len(piece)
        return proxy.sent[client] < size

    return behave


def dribble(client: socket.socket, piece: bytes, proxy: Proxy) -> bool:
    """Passes a few bytes at a time on. TLS records are opened as soon as they are complete."""
    for at in range(0, len(piece), 7):
        client.sendall(piece[at : at + 7])
        time.sleep(0.0005)
    return True


class Proxy:
    """A TCP proxy in front of a port of this machine, with a behaviour that tests may change."""

    def __init__(self, port: int, behaviour: Behaviour = forward) -> None:
        self.target, self.behaviour = port, behaviour
        self.connections = 0
        self.sent: dict[socket.socket, int] = {}
        self.stalled = False
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self.listener.getsockname()[1])
        self.open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Proxy:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.listener.close()
        self.cut()

    @property
    def base(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    def cut(self) -> None:
        """Closes all connections."""
        for one in self.open:
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            one.close()
        self.open.clear()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            try:
                server = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                client.close()
                continue
            self.open += [client, server]
            threading.Thread(target=self._pump, args=(client, server, forward), daemon=True).start()
            threading.Thread(target=self._pump, args=(server, client, None), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket, behaviour: Behaviour | None) -> None:
        try:
            while piece := source.recv(65536):
                while self.stalled:
                    time.sleep(0.05)
                if not (behaviour or self.behaviour)(sink, piece, self):
                    break
        except OSError:
            pass
        for one in (source, sink):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            one.close()
