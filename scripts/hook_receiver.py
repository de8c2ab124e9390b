"""An HTTPS server that receives the deliveries of hooks, for prove-hooks and measure-hooks."""

import asyncio
import base64
import hashlib
import hmac
import json
import os
import ssl
import subprocess
import threading

HOST = "127.7.0.1"
NETWORK = "127.7.0.0/16"


def certificate(folder):
    """Makes an authority and a certificate for HOST: the files of the authority, of the certificate and of its key."""
    path = lambda name: os.path.join(folder, name)
    run = lambda *command: subprocess.run(["openssl", *command], check=True, capture_output=True)
    new_key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    run("req", "-x509", *new_key, "-subj", "/CN=receivers", "-days", "2", "-keyout", path("ca.key"), "-out", path("ca.pem"))
    run("req", *new_key, "-subj", "/CN=receiver", "-keyout", path("receiver.key"), "-out", path("receiver.csr"))
    with open(path("extensions"), "w") as file:
        file.write(f"subjectAltName=IP:{HOST}\nbasicConstraints=CA:FALSE\n")
    run("x509", "-req", "-in", path("receiver.csr"), "-CA", path("ca.pem"), "-CAkey", path("ca.key"), "-CAcreateserial",
        "-days", "2", "-extfile", path("extensions"), "-out", path("receiver.pem"))
    return path("ca.pem"), path("receiver.pem"), path("receiver.key")


def is_signed(secret, headers, body):
    """Whether one of the signatures is made with the secret."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    expected = "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    return expected in headers["webhook-signature"].split()


class Receiver(threading.Thread):
    """Calls `take(path, headers, message, body)` for each delivery, which returns a status, or None to never answer."""

    def __init__(self, folder, take):
        super().__init__(daemon=True)
        self.authority, chain, key = certificate(folder)
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(chain, key)
        self.take, self.port, self.ready = take, None, threading.Event()
        self.start()
        self.ready.wait()

    def run(self):
        asyncio.run(self.serve())

    async def serve(self):
        server = await asyncio.start_server(self.handle, HOST, 0, ssl=self.tls, backlog=1_000)
        self.port = server.sockets[0].getsockname()[1]
        self.ready.set()
        async with server:
            await server.serve_forever()

    async def handle(self, reader, writer):
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            path = head[0].split()[1]
            headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in head[1:] if line)}
            body = await reader.readexactly(int(headers["content-length"]))
            status = self.take(path, headers, json.loads(body), body)
            if status is None:
                await reader.read()
            else:
                writer.write(f"HTTP/1.1 {status} X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    def url(self, path):
        return f"https://{HOST}:{self.port}{path}"


def settings(authority):
    """The environment of a service that may send to the receiver."""
    return {**os.environ, "TOFROM_HOOKS__NETWORKS": NETWORK, "SSL_CERT_FILE": authority}
