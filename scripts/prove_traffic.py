"""Writers and readers of scripts/prove-cluster, the expected result, and the recorded errors."""

import collections
import http.client
import json
import os
import random
import threading
import time
from urllib.parse import urlsplit

BROKEN = (OSError, http.client.HTTPException, ValueError)
# The timeout of one attempt of a request, and of a request with all its attempts.
REQUEST = 12
TIMEOUT = 240
SERVICE = "proof"

faults = collections.Counter()
print_lock = threading.Lock()


def stolen():
    """CPU steal since the start of the machine: seconds per processor."""
    with open("/proc/stat") as stat:
        ticks = int(stat.readline().split()[8])
    return ticks / os.sysconf("SC_CLK_TCK") / os.cpu_count()


def clock():
    """Seconds without CPU steal, so that limits and figures describe the cluster."""
    return time.monotonic() - stolen()


started, stolen_before = clock(), stolen()


def say(text):
    with print_lock:
        print(f"{clock() - started:6.1f} s  {text}", flush=True)


def wrong(kind, text):
    """Records an error. The first ones of each kind are printed."""
    faults[kind] += 1
    if faults[kind] <= 5:
        say(f"ERROR: {kind}: {text}")


class Requests:
    """The durations of slow requests, including repetitions."""

    def __init__(self):
        self.long = []

    def note(self, begin, end):
        if end - begin > 0.5:
            self.long.append((begin, end))

    def longest(self, begin, end):
        """The longest request that overlaps this period."""
        return max((last - first for first, last in list(self.long) if first < end and last > begin), default=0.0)


class Client:
    """Sends requests to both API processes alternately, and repeats them until one succeeds."""

    def __init__(self, workload, key):
        self.workload, self.key, self.turn, self.wires = workload, key, random.randrange(2), {}

    def wire(self, timeout=REQUEST):
        """A connection to the current process."""
        port = self.workload.cluster.apis[self.turn].port
        return http.client.HTTPSConnection("127.0.0.1", port, context=self.workload.cluster.tls, timeout=timeout)

    def attempt(self, method, path, body, headers):
        wire = self.wires.get(self.turn) or self.wire()
        self.wires[self.turn] = wire
        try:
            wire.request(method, path, body, headers)
            response = wire.getresponse()
            return response.status, response.headers, response.read()
        except BROKEN:
            wire.close()
            del self.wires[self.turn]
            raise

    def send(self, method, path, good, body=None, repeated=()):
        """Returns status, headers, body, and whether an attempt timed out. `good` are the expected statuses, `repeated`
        further ones for a repeated request."""
        begin, late, attempts = clock(), False, 0
        headers = {"ServicePSK": self.key, "Accept": "application/json"}
        if body:
            headers["Content-Type"] = "application/json"
        while True:
            self.turn = 1 - self.turn
            attempts += 1
            try:
                status, response_headers, text = self.attempt(method, path, body, headers)
                if status in good or (attempts > 1 and status in repeated):
                    end = clock()
                    self.workload.requests.note(begin, end)
                    return status, response_headers, text, late
                why = f"{status} {text[:300]}"
                if status < 500:
                    wrong("unexpected response", f"{method} {path}: {why}")
            except BROKEN as error:
                why = repr(error)
                late = late or isinstance(error, TimeoutError)
            if clock() - begin > TIMEOUT:
                wrong("request never succeeded", f"{method} {path}: {why}")
                raise SystemExit
            # Quickly at first, but not so often that it slows down starting nodes.
            time.sleep(random.uniform(0.5, 1) * min(0.5, 0.05 * attempts))


class Writer(threading.Thread):
    """Writes activities, and edits and deletes some; all of them are acknowledged at the end. Its name is in their titles."""

    def __init__(self, workload, account, key, name=None):
        super().__init__(daemon=True, name=name or account)
        self.workload, self.account, self.client = workload, account, Client(workload, key)
        # The last version of each activity, 0 if deleted.
        self.versions, self.late, self.acknowledged, self.last = {}, set(), 0, 0.0

    def path(self, number):
        return f"/200909/activity/{self.account}/from/{SERVICE}/{self.name}-{number}"

    def run(self):
        number = 0
        while self.continues():
            number += 1
            self.put(number)
            # A timed-out request may still take effect after a later one: its activity is not changed again.
            if number % 5 == 0 and number - 3 not in self.late:
                self.put(number - 3)
            if number % 8 == 0 and number - 4 not in self.late:
                self.delete(number - 4)
            time.sleep(random.uniform(0.5, 1.5) * self.workload.pace)

    def continues(self):
        return not self.workload.written

    def put(self, number):
        version = self.versions.get(number, 0) + 1
        title = f"{self.name} {number} {version}"
        bookmark = {"Title": title, "Url": "https://example.org/"}
        item = {"Category": "BookmarkShared", "Title": title, "Bookmark": bookmark}
        # An existing activity must not be created again.
        good = (200,) if number in self.versions else (201,)
        *_, late = self.client.send("PUT", self.path(number), good, json.dumps(item), repeated=(200, 201))
        self.count(number, version, late)
        if random.random() < 0.1:
            status, _, text, _ = self.client.send("GET", self.path(number), (200, 404))
            if status == 404 or json.loads(text).get("Title") != title:
                wrong("acknowledged write not readable", f"{title}: {status} {text[:300]}")

    def delete(self, number):
        *_, late = self.client.send("DELETE", self.path(number), (204,), repeated=(404,))
        self.count(number, 0, late)

    def count(self, number, version, late):
        self.versions[number] = version
        self.acknowledged += 1
        self.last = clock()
        if late:
            self.late.add(number)


class Reader(threading.Thread):
    """Records the received versions, and the last one of each activity."""

    def __init__(self, workload, name, key, writers):
        super().__init__(daemon=True)
        self.workload, self.account, self.writers, self.client = workload, name, writers, Client(workload, key)
        # A writer's activities are not in its `to`.
        collection = "tofrom" if any(writer.account == name for writer in writers) else "to"
        self.path = f"/200909/activity/{name}/{collection}?count=200"
        self.seen, self.known, self.names, self.connects = collections.Counter(), {}, {}, 0
        response = self.client.send("GET", self.path, (200,))
        self.updates = links(response[1])["updates"]

    def record(self, activity):
        writer, number, version = parse_title(activity)
        self.seen[writer, number, version] += 1
        self.known[writer, number] = version
        self.names[activity["ActivityIdentifier"]] = (writer, number)

    def holes(self):
        """The activities whose last version was not received."""
        expected_versions = expected(self.writers)
        return [(*name, version) for name, version in expected_versions.items() if self.known.get(name) != version]

    def repeats(self):
        return sum(times - 1 for times in self.seen.values())

    def run(self):
        while not self.workload.read:
            try:
                self.poll()
            except BROKEN:
                time.sleep(random.uniform(0.1, 0.5))


class Stream(Reader):
    """Reads a live stream, and reconnects to the other process with its last id after a disconnect or at random."""

    last = None

    def poll(self):
        self.connects += 1
        self.client.turn = 1 - self.client.turn
        wire = self.client.wire(timeout=20)
        headers = {"ServicePSK": self.client.key, "Accept": "text/event-stream"}
        if self.last:
            headers["Last-Event-ID"] = self.last
        try:
            wire.request("GET", self.updates, headers=headers)
            response = wire.getresponse()
            if response.status != 200:
                if response.status < 500:
                    wrong("unexpected response", f"stream of {self.account}: {response.status} {response.read()[:300]}")
                raise OSError(response.status)
            until = clock() + random.uniform(2, 30)
            event = {}
            while not self.workload.read and clock() < until:
                line = response.readline().decode()
                if not line:
                    return
                if line == "\n":
                    self.take(event)
                    event = {}
                else:
                    name, _, value = line.rstrip("\n").partition(": ")
                    event[name] = value
        finally:
            wire.close()

    def take(self, event):
        kind = event.get("event")
        if kind == "activity":
            self.record(json.loads(event["data"]))
        elif kind == "deleted":
            name = self.names.get(json.loads(event["data"])["ActivityIdentifier"])
            if name:
                # Unknown ones were created and deleted before the stream was opened.
                self.known[name] = 0
        elif kind:
            wrong("unexpected event", f"stream of {self.account}: {event}")
        self.last = event.get("id", self.last)

    def holes(self):
        """Also missing deletions of received activities."""
        deletions = [
            (writer.name, number, 0)
            for writer in self.writers
            for number, version in list(writer.versions.items())
            if not version and self.known.get((writer.name, number))
        ]
        return super().holes() + deletions


class Poller(Reader):
    """Follows `updates` from one response to the next."""

    def poll(self):
        self.connects += 1
        _, headers, text, _ = self.client.send("GET", self.updates, (200,))
        for activity in json.loads(text)["Activities"]["Activity"]:
            self.record(activity)
        found = links(headers)
        self.updates = found.get("next") or found["updates"]
        if "next" not in found:
            time.sleep(random.uniform(0.1, 0.6))


def links(headers):
    """Paths and queries of a Link header, by relation."""
    found = {}
    for link in headers["Link"].split(", <"):
        address, _, relation = link.strip("<").partition('>; rel="')
        parts = urlsplit(address)
        found[relation.rstrip('"')] = f"{parts.path}?{parts.query}"
    return found


def parse_title(activity):
    """Writer, number and version of an activity, from its title."""
    writer, number, version = activity["Title"].split()
    return writer, int(number), int(version)


def expected(writers):
    """The expected version of each activity, by writer and number."""
    return {
        (writer.name, number): version
        for writer in writers
        for number, version in list(writer.versions.items())
        if version
    }


def walk(client, path):
    """All pages of a collection by `next`, from both processes alternately."""
    found = []
    while path:
        _, headers, text, _ = client.send("GET", path, (200,))
        found += [parse_title(activity) for activity in json.loads(text)["Activities"]["Activity"]]
        path = links(headers).get("next")
    return found


def check(client, path, writers):
    """Checks that a collection has exactly the expected activities, each once."""
    found, expected_versions = walk(client, path), expected(writers)
    there = {(writer, number): version for writer, number, version in found}
    for name, version in expected_versions.items():
        if there.get(name) != version:
            wrong("lost", f"{name} is not in {path} as version {version}, but {there.get(name)}")
    for name in there.keys() - expected_versions.keys():
        wrong("unexpected activity", f"{name} is in {path}")
    if len(there) != len(found):
        wrong("duplicate in a collection", f"{len(found) - len(there)} of {path}")
