"""Who writes and who reads while scripts/prove-cluster strikes, what they must have in the end, and what was wrong."""

import collections
import http.client
import json
import os
import random
import threading
import time
from urllib.parse import urlsplit

BROKEN = (OSError, http.client.HTTPException, ValueError)
# How long a request may take before it is given up and sent again, and how long until it must have been acknowledged.
REQUEST = 12
PATIENCE = 240
SERVICE = "proof"

faults = collections.Counter()
silence = threading.Lock()


def stolen():
    """Seconds that each processor lost to others on the same host since the machine started, on average."""
    with open("/proc/stat") as stat:
        ticks = int(stat.readline().split()[8])
    return ticks / os.sysconf("SC_CLK_TCK") / os.cpu_count()


def clock():
    """Seconds as the machine gave them. What others had does not count: limits and figures are the cluster's."""
    return time.monotonic() - stolen()


started, stolen_before = clock(), stolen()


def say(text):
    with silence:
        print(f"{clock() - started:6.1f} s  {text}", flush=True)


def wrong(kind, text):
    """Something that must not be. The first of each kind are told."""
    faults[kind] += 1
    if faults[kind] <= 5:
        say(f"WRONG: {kind}: {text}")


class Requests:
    """How long requests took, each with its repetitions, as far as it was long."""

    def __init__(self):
        self.long = []

    def note(self, begin, end):
        if end - begin > 0.5:
            self.long.append((begin, end))

    def longest(self, begin, end):
        """The longest one of those that were under way in between."""
        return max((last - first for first, last in list(self.long) if first < end and last > begin), default=0.0)


class Client:
    """Asks both processes in turn, and again until one of them answers to the purpose."""

    def __init__(self, world, key):
        self.world, self.key, self.turn, self.wires = world, key, random.randrange(2), {}

    def wire(self, timeout=REQUEST):
        """A connection to the process whose turn it is."""
        port = self.world.cluster.apis[self.turn].port
        return http.client.HTTPSConnection("127.0.0.1", port, context=self.world.cluster.tls, timeout=timeout)

    def once(self, method, path, body, headers):
        wire = self.wires.get(self.turn) or self.wire()
        self.wires[self.turn] = wire
        try:
            wire.request(method, path, body, headers)
            answer = wire.getresponse()
            return answer.status, answer.headers, answer.read()
        except BROKEN:
            wire.close()
            del self.wires[self.turn]
            raise

    def ask(self, method, path, good, body=None, repeated=()):
        """Gives status, headers, body, and whether an attempt got no answer in time. `good` are the statuses that do,
        `repeated` those that do as well if it was sent before."""
        begin, late, attempts = clock(), False, 0
        headers = {"ServicePSK": self.key, "Accept": "application/json"}
        if body:
            headers["Content-Type"] = "application/json"
        while True:
            self.turn = 1 - self.turn
            attempts += 1
            try:
                status, told, text = self.once(method, path, body, headers)
                if status in good or (attempts > 1 and status in repeated):
                    end = clock()
                    self.world.requests.note(begin, end)
                    return status, told, text, late
                why = f"{status} {text[:300]}"
                if status < 500:
                    wrong("an answer", f"{method} {path}: {why}")
            except BROKEN as error:
                why = repr(error)
                late = late or isinstance(error, TimeoutError)
            if clock() - begin > PATIENCE:
                wrong("a request without an end", f"{method} {path}: {why}")
                raise SystemExit
            # Soon at first, but not so often that it keeps nodes from starting.
            time.sleep(random.uniform(0.5, 1) * min(0.5, 0.05 * attempts))


class Writer(threading.Thread):
    """Writes one activity after the other, and edits and deletes some; all of them are acknowledged in the end."""

    def __init__(self, world, name, key):
        super().__init__(daemon=True)
        self.world, self.account, self.client = world, name, Client(world, key)
        # The last version of each, 0 if deleted.
        self.versions, self.late, self.acknowledged, self.last = {}, set(), 0, 0.0

    def path(self, number):
        return f"/200909/activity/{self.account}/from/{SERVICE}/{number}"

    def run(self):
        number = 0
        while self.goes_on():
            number += 1
            self.put(number)
            # A request that was given up may still be carried out after another one: then its address is left alone.
            if number % 5 == 0 and number - 3 not in self.late:
                self.put(number - 3)
            if number % 8 == 0 and number - 4 not in self.late:
                self.delete(number - 4)
            time.sleep(random.uniform(0.5, 1.5) * self.world.pace)

    def goes_on(self):
        return not self.world.written

    def put(self, number):
        version = self.versions.get(number, 0) + 1
        title = f"{self.account} {number} {version}"
        bookmark = {"Title": title, "Url": "https://example.org/"}
        item = {"Category": "BookmarkShared", "Title": title, "Bookmark": bookmark}
        # One that is there must not be made anew.
        good = (200,) if number in self.versions else (201,)
        *_, late = self.client.ask("PUT", self.path(number), good, json.dumps(item), repeated=(200, 201))
        self.count(number, version, late)
        if random.random() < 0.1:
            status, _, text, _ = self.client.ask("GET", self.path(number), (200, 404))
            if status == 404 or json.loads(text).get("Title") != title:
                wrong("not read after it was acknowledged", f"{title}: {status} {text[:300]}")

    def delete(self, number):
        *_, late = self.client.ask("DELETE", self.path(number), (204,), repeated=(404,))
        self.count(number, 0, late)

    def count(self, number, version, late):
        self.versions[number] = version
        self.acknowledged += 1
        self.last = clock()
        if late:
            self.late.add(number)


class Reader(threading.Thread):
    """Has had some versions, and knows of each activity the last one."""

    def __init__(self, world, name, key, writers):
        super().__init__(daemon=True)
        self.world, self.account, self.writers, self.client = world, name, writers, Client(world, key)
        # What a writer does itself is not in its `to`.
        collection = "tofrom" if any(writer.account == name for writer in writers) else "to"
        self.path = f"/200909/activity/{name}/{collection}?count=200"
        self.seen, self.known, self.names, self.comings = collections.Counter(), {}, {}, 0
        answer = self.client.ask("GET", self.path, (200,))
        self.updates = links(answer[1])["updates"]

    def saw(self, activity):
        account, number, version = named(activity)
        self.seen[account, number, version] += 1
        self.known[account, number] = version
        self.names[activity["ActivityIdentifier"]] = (account, number)

    def holes(self):
        """What it does not know of in its last version."""
        wanted = expected(self.writers)
        return [(*name, version) for name, version in wanted.items() if self.known.get(name) != version]

    def repeats(self):
        return sum(times - 1 for times in self.seen.values())

    def run(self):
        while not self.world.read:
            try:
                self.look()
            except BROKEN:
                time.sleep(random.uniform(0.1, 0.5))


class Stream(Reader):
    """Watches live, and comes back with its last id at the other process whenever it is cut, or hangs up itself."""

    last = None

    def look(self):
        self.comings += 1
        self.client.turn = 1 - self.client.turn
        wire = self.client.wire(timeout=20)
        headers = {"ServicePSK": self.client.key, "Accept": "text/event-stream"}
        if self.last:
            headers["Last-Event-ID"] = self.last
        try:
            wire.request("GET", self.updates, headers=headers)
            answer = wire.getresponse()
            if answer.status != 200:
                if answer.status < 500:
                    wrong("an answer", f"a stream of {self.account}: {answer.status} {answer.read()[:300]}")
                raise OSError(answer.status)
            until = clock() + random.uniform(2, 30)
            event = {}
            while not self.world.read and clock() < until:
                line = answer.readline().decode()
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
            self.saw(json.loads(event["data"]))
        elif kind == "deleted":
            name = self.names.get(json.loads(event["data"])["ActivityIdentifier"])
            if name:
                # Others were made and deleted before it came to look.
                self.known[name] = 0
        elif kind:
            wrong("an event", f"a stream of {self.account}: {event}")
        self.last = event.get("id", self.last)

    def holes(self):
        """Deletions too: it was told of them, if it had the activity."""
        gone = [
            (writer.account, number, 0)
            for writer in self.writers
            for number, version in list(writer.versions.items())
            if not version and self.known.get((writer.account, number))
        ]
        return super().holes() + gone


class Poller(Reader):
    """Follows `updates` from one answer to the next."""

    def look(self):
        self.comings += 1
        _, headers, text, _ = self.client.ask("GET", self.updates, (200,))
        for activity in json.loads(text)["Activities"]["Activity"]:
            self.saw(activity)
        found = links(headers)
        self.updates = found.get("next") or found["updates"]
        if "next" not in found:
            time.sleep(random.uniform(0.1, 0.6))


def links(headers):
    """Of a Link header: paths and queries by their relation."""
    found = {}
    for link in headers["Link"].split(", <"):
        address, _, relation = link.strip("<").partition('>; rel="')
        parts = urlsplit(address)
        found[relation.rstrip('"')] = f"{parts.path}?{parts.query}"
    return found


def named(activity):
    """Account, number and version of an activity, by its title."""
    account, number, version = activity["Title"].split()
    return account, int(number), int(version)


def expected(writers):
    """What is there in the end, by account and number."""
    return {
        (writer.account, number): version
        for writer in writers
        for number, version in list(writer.versions.items())
        if version
    }


def walk(client, path):
    """A collection from top to bottom, by `next`, from both processes in turn."""
    found = []
    while path:
        _, headers, text, _ = client.ask("GET", path, (200,))
        found += [named(activity) for activity in json.loads(text)["Activities"]["Activity"]]
        path = links(headers).get("next")
    return found


def check(client, path, writers):
    """That a collection has everything that it should, once, and nothing else."""
    found, wanted = walk(client, path), expected(writers)
    there = {(account, number): version for account, number, version in found}
    for name, version in wanted.items():
        if there.get(name) != version:
            wrong("lost", f"{name} is not in {path} as version {version}, but {there.get(name)}")
    for name in there.keys() - wanted.keys():
        wrong("too much", f"{name} is in {path}")
    if len(there) != len(found):
        wrong("twice in a collection", f"{len(found) - len(there)} of {path}")
