"""What scripts/prove-cluster --ways has besides: accounts that are pulled and pushed again, fall asleep and return.

Fans follow every writer and leave it again, so that it goes above the threshold and back to half of it. With every
strike a new account rises: it is prepared to be pulled, which happens to each only once, in the middle of the strike.
Sleepers follow everybody, look at nothing until they sleep, read what is new since they looked, and have the rest told
by `updates`. In the end everybody must have what belongs there: sleepers everything, at once when they are read; fans,
who then follow everybody, what was received since, and of what was there before the newest 50.
"""

import collections
import json
import pathlib
import random
import sys
import threading
import time

from prove_traffic import PATIENCE, REQUEST, Client, Writer, check, clock, expected, links, named, walk, wrong

sys.path.append(str(pathlib.Path(__file__).resolve().parent / "engines.d"))
from ask import Cassandra

SLEEPERS, FANS = 2, 9
# Without fans at most half of that follow a writer. With all of them, or all but one, more do.
PULL_ABOVE = 10
SETTINGS = f'[fanout]\npull_above = "{PULL_ABOVE}"\nidle_after = "2s"\n'
# How long all fans stay, and how long none does, in seconds: whenever one comes, 50 are brought along and delivered.
BETWEEN = (3, 8)
# How long sleepers look at nothing, and how long they watch after they have everything, in seconds.
PAUSE = (5, 15)
WATCHING = (2, 5)
# How long until all sleep whom nobody reads: if the worker was killed that sees to it, the other one does 30 s later.
ASLEEP_WITHIN = 60
# How many a new follower finds of what somebody did before.
BROUGHT_ALONG = 50
# A mark remembers the first 200 that a walk showed before they arrived; the rest is told again. Where fewer than this were
# new, there was room for all of them and for what was written meanwhile.
FEW_NEW = 120
# How much more a sleeper reads than what is new, because some of what it has is edited.
MARGIN = 200
# A level of consistency.
TWO_REPLICAS = 2


class Fans(threading.Thread):
    """Has all fans but one follow a writer, and then none, again and again; in the end all of them do."""

    def __init__(self, ways, writer, once=False):
        super().__init__(daemon=True)
        self.ways, self.writer, self.once = ways, writer, once
        self.client, self.late = ways.client(), False

    def run(self):
        # The last one follows for the first time when the writer has changed over already.
        *most, _ = self.ways.fans
        while not self.once and not self.ways.settled:
            self.follow(most)
            time.sleep(random.uniform(*BETWEEN))
            for fan in random.sample(most, len(most)):
                self.ask("DELETE", fan)
            time.sleep(random.uniform(*BETWEEN))
        # A request that was given up may still be carried out: not after what counts.
        time.sleep(REQUEST if self.late else 0)
        self.follow(self.ways.fans)

    def ask(self, method, fan):
        *_, late = self.client.ask(method, f"/200909/user/{fan}/following/{self.writer.account}", (204,))
        self.late = self.late or late

    def follow(self, fans):
        for fan in random.sample(fans, len(fans)):
            before = dict(self.writer.versions)
            self.ask("PUT", fan)
            self.ways.edges[fan, self.writer] = (before, dict(self.writer.versions))
            # Some look, and so they return while they follow.
            if random.random() < 0.25:
                self.client.ask("GET", f"/200909/activity/{fan}/to?count=20", (200,))


class Riser(Writer):
    """Writes while all fans begin to follow it, and somewhat longer."""

    def __init__(self, ways, name):
        super().__init__(ways.world, name, ways.key)
        self.fans, self.remaining = Fans(ways, self, once=True), 10

    def run(self):
        time.sleep(random.uniform(0, 2))
        self.fans.start()
        super().run()

    def goes_on(self):
        if not self.fans.is_alive():
            self.remaining -= 1
        return self.remaining > 0


class Sleeper(threading.Thread):
    """Reads what is new, follows `updates` from there until it has everything, and looks at nothing for a while."""

    def __init__(self, ways, name):
        super().__init__(daemon=True)
        self.ways, self.account, self.client = ways, name, ways.client()
        self.path = f"/200909/activity/{name}/to?count="
        self.known, self.begun, self.sessions, self.at_once = {}, 0, 0, 0
        self.repeats, self.unexplained = 0, 0

    def run(self):
        while not self.ways.world.written:
            self.session()
            end = clock() + random.uniform(*PAUSE)
            while clock() < end and not self.ways.world.written:
                time.sleep(0.1)

    def session(self):
        begun, wanted = self.ways.acknowledged(), expected(self.ways.writers)
        seen, new = collections.Counter(), begun - self.begun
        updates = self.read(new + MARGIN, seen)
        self.begun = begun
        self.sessions += 1
        self.at_once += not self.holes(wanted)
        patience, watched = clock() + PATIENCE, clock() + random.uniform(*WATCHING)
        while clock() < watched or self.holes(wanted):
            if clock() > patience:
                wrong("hole", f"{self.account} was not told of {self.holes(wanted)[:5]}")
                break
            _, headers, text, _ = self.client.ask("GET", updates, (200,))
            self.saw(text, seen)
            found = links(headers)
            updates = found.get("next") or found["updates"]
            if "next" not in found:
                time.sleep(random.uniform(0.1, 0.6))
        repeats = sum(times - 1 for times in seen.values())
        self.repeats += repeats
        self.unexplained += repeats if new < FEW_NEW else 0

    def read(self, many, seen):
        """Reads as many from the top as there may be new ones, and gives where `updates` go on. What is older it has:
        the session before did not end without."""
        # Small pages: who sleeps costs most to read, and on a busy machine larger ones take too long.
        path = f"{self.path}50"
        while path and sum(seen.values()) < many:
            _, headers, text, _ = self.client.ask("GET", path, (200,))
            self.saw(text, seen)
            path = links(headers).get("next")
        if max(seen.values(), default=0) > 1:
            wrong("twice in a walk", f"of {self.account}: {[name for name, times in seen.items() if times > 1][:5]}")
        return links(headers)["updates"]

    def saw(self, text, seen):
        for account, number, version in map(named, json.loads(text)["Activities"]["Activity"]):
            seen[account, number, version] += 1
            self.known[account, number] = version

    def holes(self, wanted):
        """What of that it does not have, and was not deleted meanwhile."""
        there = expected(self.ways.writers)
        return [name for name, version in wanted.items() if name in there and self.known.get(name, 0) < version]


class Ways:
    """All of these, beside the writers and readers that are there in any case."""

    def __init__(self, world, rises):
        self.world, self.settled = world, False
        world.cluster.run("account", "add", "ops", "--operator", "--no-password")
        self.key = json.loads(world.cluster.run("key", "add", "ops", "--scope", "write"))["key"]
        self.fans = [f"f{number}" for number in range(FANS)]
        # What a writer had done before and after each fan began to follow it, the last time.
        self.edges = {}
        self.risers = [Riser(self, f"n{number}") for number in range(rises)]
        self.waiting = list(self.risers)
        self.writers = world.writers + self.risers
        self.crowds = [Fans(self, writer) for writer in world.writers]
        self.sleepers = [Sleeper(self, f"s{number}") for number in range(SLEEPERS)]
        client, sleepers = self.client(), [sleeper.account for sleeper in self.sleepers]
        for name in self.fans + sleepers + [riser.account for riser in self.risers]:
            client.ask("PUT", f"/200909/user/{name}", (201,), json.dumps({"Public": True}), repeated=(200,))
        for name in sleepers:
            for writer in self.writers:
                client.ask("PUT", f"/200909/user/{name}/following/{writer.account}", (204,))

    def client(self):
        """An operator, who does it for all of them."""
        return Client(self.world, self.key)

    def acknowledged(self):
        return sum(writer.acknowledged for writer in self.writers)

    def start(self):
        for thread in self.crowds + self.sleepers:
            thread.start()

    def rise(self):
        if self.waiting:
            self.waiting.pop(0).start()

    def settle(self):
        """All fans follow all, while the writers still write."""
        self.settled = True
        for thread in self.crowds + self.risers:
            thread.join(PATIENCE)
        for riser in self.risers:
            riser.fans.join(PATIENCE)

    def finish(self):
        for sleeper in self.sleepers:
            sleeper.join(2 * PATIENCE)

    def judge(self):
        """Looks at the collections of sleepers when they are asleep, and when they have returned; and of the others."""
        end = clock() + ASLEEP_WITHIN
        while not self.all_sleep() and clock() < end:
            time.sleep(0.5)
        if not self.all_sleep():
            wrong("awake", f"somebody does not fall asleep within {ASLEEP_WITHIN} s")
        for pause in (5, 0):
            for sleeper in self.sleepers:
                check(sleeper.client, f"{sleeper.path}200", self.writers)
            time.sleep(pause)
        for riser in self.risers:
            check(riser.client, f"/200909/activity/{riser.account}/from?count=200", [riser])
        for fan in self.fans:
            self.check_fan(fan)

    def check_fan(self, fan):
        """That a fan has what is received since it followed, and what that brought along."""
        path = f"/200909/activity/{fan}/to?count=200"
        found = walk(self.client(), path)
        there = {(account, number): version for account, number, version in found}
        if len(there) != len(found):
            wrong("twice in a collection", f"{len(found) - len(there)} of {path}")
        wanted = expected(self.writers)
        for writer in self.writers:
            begins, may_begin = brought(*self.edges[fan, writer])
            for number, version in writer.versions.items():
                name = writer.account, number
                if name in wanted and number >= begins and there.get(name) != version:
                    wrong("lost", f"{name} is not in {path} as version {version}, but {there.get(name)}")
                if name in there and (name not in wanted or number < may_begin):
                    wrong("too much", f"{name} is in {path}")

    def versions(self, cell, table, rest=""):
        """What of a register is stored: the version, which is its time, and its bytes."""
        engines = self.world.cluster.engines
        wire, keyspace = Cassandra("127.0.0.1", engines.cql), engines.keyspace
        rows = wire.rows(f"SELECT WRITETIME({cell}), {cell} FROM {keyspace}.{table} {rest}", TWO_REPLICAS)
        return [(int.from_bytes(version, "big"), stored) for version, stored in rows if stored]

    def phases(self):
        return self.versions("phase", "reading", "PER PARTITION LIMIT 1")

    def all_sleep(self):
        """Whether everybody does who ever slept. The first byte of a phase is 2 then."""
        asleep = [stored[0] == 2 for _, stored in self.phases()]
        return all(asleep) and len(asleep) >= FANS + SLEEPERS

    def figures(self):
        """How often accounts went from one state to the next. The versions of states are counted: an account is
        prepared (1), pulled (2), pushed again (3), pulled (4); it sleeps (1), returns (2), is awake (3), sleeps (4)."""
        audiences = [version for version, _ in self.versions("audience", "audience")]
        phases = [version for version, _ in self.phases()]
        figures = {
            "accounts prepared to be pulled": len(audiences),
            "changed over to being pulled": sum(version // 2 for version in audiences),
            "and back to being pushed": sum((version - 1) // 2 for version in audiences),
            "fell asleep": sum((version + 2) // 3 for version in phases),
            "returned": sum((version + 1) // 3 for version in phases),
        }
        for name, figure in figures.items():
            if not figure:
                wrong("nothing tried", name)
        return {
            **figures,
            "sleepers read": f"{sum(sleeper.sessions for sleeper in self.sleepers)} times",
            "found everything at once": f"{sum(sleeper.at_once for sleeper in self.sleepers)} times",
            "were told what they had read": sum(sleeper.repeats for sleeper in self.sleepers),
            f"of that, with fewer than {FEW_NEW} new": sum(sleeper.unexplained for sleeper in self.sleepers),
        }


def brought(before, after):
    """From which number on a follower has what a writer did, at the latest and at the earliest, if it began to follow
    between these two states of it."""
    # One activity may have been made that was not acknowledged yet, and one deleted.
    most = [number for number, version in after.items() if version or before.get(number)] + [max(after, default=0) + 1]
    fewest = [number for number, version in before.items() if version and after[number]]

    def newest(numbers, count):
        return sorted(numbers)[-count] if len(numbers) >= count else 0

    return newest(most, BROUGHT_ALONG), newest(fewest, BROUGHT_ALONG + 1)
