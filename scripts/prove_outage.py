"""The outage of the log in scripts/prove-cluster: with all NATS nodes down, reads go on and writes are refused."""

import http.client
import json
import threading
import time

from prove_traffic import BROKEN, REQUEST, clock, links, say, wrong

NATS = ["nats1", "nats2", "nats3"]
READERS = 8
# After this many seconds without an answer, writes are refused at once and /readyz says so.
NOTICED = 10


def request(cluster, port, key, method, path, body=None):
    """One request without repetition: status, headers and body, or an error."""
    wire = http.client.HTTPSConnection("127.0.0.1", port, context=cluster.tls, timeout=REQUEST)
    try:
        headers = {"ServicePSK": key, "Accept": "application/json"}
        if body:
            headers["Content-Type"] = "application/json"
        wire.request(method, path, body, headers)
        response = wire.getresponse()
        return response.status, response.headers, response.read()
    finally:
        wire.close()


class Reader(threading.Thread):
    """Reads a page and what came after it, over and over, at one process. Every response must be 200."""

    def __init__(self, workload, number):
        super().__init__(daemon=True)
        self.workload, self.ended, self.reads, self.slowest = workload, False, 0, 0.0
        self.port = workload.cluster.apis[number % 2].port
        self.of = workload.readers[number % len(workload.readers)]

    def run(self):
        while not self.ended:
            headers = self.read(f"/200909/activity/{self.of.account}/tofrom?count=20")
            if headers:
                self.read(links(headers)["updates"])

    def read(self, path):
        begin = clock()
        try:
            status, headers, body = request(self.workload.cluster, self.port, self.of.client.key, "GET", path)
        except BROKEN as error:
            return wrong("read during the outage", f"{path}: {error!r}")
        self.reads += 1
        self.slowest = max(self.slowest, clock() - begin)
        if status != 200:
            return wrong("read during the outage", f"{path}: {status} {body[:300]}")
        return headers


def refused(workload):
    """A write is refused with 503 and Retry-After. Returns the seconds that it took."""
    writer = workload.writers[0]
    body = json.dumps({"Title": "during the outage", "Category": "NotePosted", "Note": {"Title": "x"}})
    begin = clock()
    try:
        status, headers, text = request(
            workload.cluster, workload.cluster.apis[0].port, writer.client.key, "PUT",
            f"/200909/activity/{writer.account}/from/outage/1", body,
        )
    except BROKEN as error:
        wrong("write during the outage", repr(error))
        return clock() - begin
    if status != 503 or not headers.get("Retry-After"):
        wrong("write during the outage", f"{status} {dict(headers)} {text[:300]}")
    return clock() - begin


def degraded(process):
    health = process.health()
    if not health or health["log"] != "degraded":
        wrong("readiness during the outage", f"{process.name}: {health}")


def run(workload, seconds, late):
    """Stops all NATS nodes for that time. `late` is an API process that is started meanwhile."""
    cluster = workload.cluster
    cluster.engines.run("kill", *NATS)
    readers = [Reader(workload, number) for number in range(READERS)]
    for reader in readers:
        reader.start()
    end = clock() + seconds
    time.sleep(NOTICED)
    took = refused(workload)
    for process in cluster.apis:
        degraded(process)
    began = clock()
    late.configure()
    late.start()
    while not late.health() and clock() < end:
        time.sleep(0.1)
    ready = clock() - began
    degraded(late)
    newcomer = Reader(workload, 0)
    newcomer.port = late.port
    newcomer.start()
    time.sleep(max(0, end - clock()))
    for reader in [*readers, newcomer]:
        reader.ended = True
    for reader in [*readers, newcomer]:
        reader.join(REQUEST)
    if not newcomer.reads:
        wrong("read during the outage", "none at the process that was started meanwhile")
    say(
        f"log away for {seconds:g} s: {sum(reader.reads for reader in readers)} reads by {READERS} readers, slowest "
        f"{max(reader.slowest for reader in readers):.2f} s; a write was refused in {took:.2f} s; a new process was ready in "
        f"{ready:.1f} s and answered {newcomer.reads} reads"
    )
    cluster.engines.run("start", *NATS)
    cluster.await_ready()
    late.process.terminate()
    late.process.wait()
    workload.all_write()
