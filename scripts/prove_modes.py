"""The additional load of scripts/prove-cluster --modes: accounts that change their fan-out mode, become dormant and are
reactivated.

Fans follow and unfollow every writer, so that it crosses the pull threshold and falls back to half of it. With every strike
a new account rises: its preparation for pull mode, which happens once per account, takes place during the strike. Dormant
readers follow all writers, pause until they are dormant, read the new activities, and receive the rest from `updates`. At
the end all collections must be complete: dormant readers have everything as soon as they are read; fans, which then follow
all writers, have everything received since, and the newest 50 of the earlier activities.
"""

import collections
import json
import random
import threading
import time

from prove_traffic import TIMEOUT, REQUEST, Client, Writer, check, clock, expected, links, parse_title, walk, wrong

DORMANT_READERS, FANS = 2, 9
# Without fans, a writer has at most half as many followers. With all fans, or all but one, it has more.
PULL_ABOVE = 10
SETTINGS = f'[fanout]\npull_above = "{PULL_ABOVE}"\nidle_after = "2s"\n'
# How long all fans follow, and how long none does, in seconds: each new edge backfills 50 activities.
BETWEEN = (3, 8)
# How long dormant readers pause, and how long they poll after they have everything, in seconds.
PAUSE = (5, 15)
WATCHING = (2, 5)
# How long until all unread accounts are dormant: if the responsible worker was killed, the other one takes over after 30 s.
DORMANT_WITHIN = 60
# The number of earlier activities that a new edge backfills.
BACKFILL = 50
# A sync token remembers the first 200 activities that a walk showed before they arrived; the rest is repeated. With fewer new
# ones than this there was room for all of them and for concurrent writes.
FEW_NEW = 120
# How many more activities than the new ones a dormant reader reads, because some known ones are edited.
MARGIN = 200
# A consistency level.
TWO_REPLICAS = 2


class Fans(threading.Thread):
    """Repeatedly makes all fans but one follow a writer, and then none; at the end all of them follow."""

    def __init__(self, modes, writer, once=False):
        super().__init__(daemon=True)
        self.modes, self.writer, self.once = modes, writer, once
        self.client, self.late = modes.client(), False

    def run(self):
        # The last one follows for the first time after the writer has changed its mode.
        *most, _ = self.modes.fans
        while not self.once and not self.modes.settling:
            self.follow(most)
            time.sleep(random.uniform(*BETWEEN))
            for fan in random.sample(most, len(most)):
                self.change("DELETE", fan)
            time.sleep(random.uniform(*BETWEEN))
        # A timed-out request may still take effect: wait until it cannot follow the final request.
        time.sleep(REQUEST if self.late else 0)
        self.follow(self.modes.fans)

    def change(self, method, fan):
        *_, late = self.client.send(method, f"/200909/user/{fan}/following/{self.writer.account}", (204,))
        self.late = self.late or late

    def follow(self, fans):
        for fan in random.sample(fans, len(fans)):
            before = dict(self.writer.versions)
            self.change("PUT", fan)
            self.modes.edges[fan, self.writer] = (before, dict(self.writer.versions))
            # Some read, so that they are reactivated while they follow.
            if random.random() < 0.25:
                self.client.send("GET", f"/200909/activity/{fan}/to?count=20", (200,))


class Riser(Writer):
    """Writes while all fans begin to follow it, and for a while afterwards."""

    def __init__(self, modes, name):
        super().__init__(modes.workload, name, modes.key)
        self.fans, self.remaining = Fans(modes, self, once=True), 10

    def run(self):
        time.sleep(random.uniform(0, 2))
        self.fans.start()
        super().run()

    def continues(self):
        if not self.fans.is_alive():
            self.remaining -= 1
        return self.remaining > 0


class DormantReader(threading.Thread):
    """Reads new activities, follows `updates` until it has everything, and pauses."""

    def __init__(self, modes, name):
        super().__init__(daemon=True)
        self.modes, self.account, self.client = modes, name, modes.client()
        self.path = f"/200909/activity/{name}/to?count="
        self.known, self.acknowledged_before, self.sessions, self.complete = {}, 0, 0, 0
        self.repeats, self.unexplained = 0, 0

    def run(self):
        while not self.modes.workload.written:
            self.session()
            end = clock() + random.uniform(*PAUSE)
            while clock() < end and not self.modes.workload.written:
                time.sleep(0.1)

    def session(self):
        acknowledged_before, expected_versions = self.modes.acknowledged(), expected(self.modes.writers)
        seen, new = collections.Counter(), acknowledged_before - self.acknowledged_before
        updates = self.read(new + MARGIN, seen)
        self.acknowledged_before = acknowledged_before
        self.sessions += 1
        self.complete += not self.holes(expected_versions)
        deadline, watched = clock() + TIMEOUT, clock() + random.uniform(*WATCHING)
        while clock() < watched or self.holes(expected_versions):
            if clock() > deadline:
                wrong("hole", f"{self.account} did not receive {self.holes(expected_versions)[:5]}")
                break
            _, headers, text, _ = self.client.send("GET", updates, (200,))
            self.record(text, seen)
            found = links(headers)
            updates = found.get("next") or found["updates"]
            if "next" not in found:
                time.sleep(random.uniform(0.1, 0.6))
        repeats = sum(times - 1 for times in seen.values())
        self.repeats += repeats
        self.unexplained += repeats if new < FEW_NEW else 0

    def read(self, many, seen):
        """Reads as many activities from the top as may be new, and returns the `updates` link. The preceding session has
        received all older ones."""
        # Small pages: reading a dormant account is expensive, and larger pages take too long on a busy machine.
        path = f"{self.path}50"
        while path and sum(seen.values()) < many:
            _, headers, text, _ = self.client.send("GET", path, (200,))
            self.record(text, seen)
            path = links(headers).get("next")
        if max(seen.values(), default=0) > 1:
            wrong("duplicate in a walk", f"of {self.account}: {[name for name, times in seen.items() if times > 1][:5]}")
        return links(headers)["updates"]

    def record(self, text, seen):
        for account, number, version in map(parse_title, json.loads(text)["Activities"]["Activity"]):
            seen[account, number, version] += 1
            self.known[account, number] = version

    def holes(self, expected_versions):
        """The activities that are missing and not deleted since."""
        there = expected(self.modes.writers)
        return [name for name, version in expected_versions.items() if name in there and self.known.get(name, 0) < version]


class ModeChanges:
    """The fans, risers and dormant readers."""

    def __init__(self, workload, rises):
        self.workload, self.settling = workload, False
        workload.cluster.run("account", "add", "ops", "--operator", "--no-password")
        self.key = json.loads(workload.cluster.run("key", "add", "ops", "--scope", "write"))["key"]
        self.fans = [f"f{number}" for number in range(FANS)]
        # The versions of a writer before and after each fan followed it for the last time.
        self.edges = {}
        self.risers = [Riser(self, f"n{number}") for number in range(rises)]
        self.waiting = list(self.risers)
        self.writers = workload.writers + self.risers
        self.crowds = [Fans(self, writer) for writer in workload.writers]
        self.dormant_readers = [DormantReader(self, f"s{number}") for number in range(DORMANT_READERS)]
        client, dormant_readers = self.client(), [reader.account for reader in self.dormant_readers]
        for name in self.fans + dormant_readers + [riser.account for riser in self.risers]:
            client.send("PUT", f"/200909/user/{name}", (201,), json.dumps({"Public": True}), repeated=(200,))
        for name in dormant_readers:
            for writer in self.writers:
                client.send("PUT", f"/200909/user/{name}/following/{writer.account}", (204,))

    def client(self):
        """A client of an operator, who acts for all accounts."""
        return Client(self.workload, self.key)

    def acknowledged(self):
        return sum(writer.acknowledged for writer in self.writers)

    def start(self):
        for thread in self.crowds + self.dormant_readers:
            thread.start()

    def rise(self):
        if self.waiting:
            self.waiting.pop(0).start()

    def settle(self):
        """Makes all fans follow all writers, which still write."""
        self.settling = True
        for thread in self.crowds + self.risers:
            thread.join(TIMEOUT)
        for riser in self.risers:
            riser.fans.join(TIMEOUT)

    def finish(self):
        for reader in self.dormant_readers:
            reader.join(2 * TIMEOUT)

    def judge(self):
        """Checks the collections of dormant readers while they are dormant and after reactivation, and all others."""
        end = clock() + DORMANT_WITHIN
        while not self.all_dormant() and clock() < end:
            time.sleep(0.5)
        if not self.all_dormant():
            wrong("active", f"an account is not dormant within {DORMANT_WITHIN} s")
        for pause in (5, 0):
            for reader in self.dormant_readers:
                check(reader.client, f"{reader.path}200", self.writers)
            time.sleep(pause)
        for riser in self.risers:
            check(riser.client, f"/200909/activity/{riser.account}/from?count=200", [riser])
        for fan in self.fans:
            self.check_fan(fan)

    def check_fan(self, fan):
        """Checks that a fan has everything received since it followed, and the backfill."""
        path = f"/200909/activity/{fan}/to?count=200"
        found = walk(self.client(), path)
        there = {(account, number): version for account, number, version in found}
        if len(there) != len(found):
            wrong("duplicate in a collection", f"{len(found) - len(there)} of {path}")
        expected_versions = expected(self.writers)
        for writer in self.writers:
            begins, may_begin = backfill_range(*self.edges[fan, writer])
            for number, version in writer.versions.items():
                name = writer.account, number
                if name in expected_versions and number >= begins and there.get(name) != version:
                    wrong("lost", f"{name} is not in {path} as version {version}, but {there.get(name)}")
                if name in there and (name not in expected_versions or number < may_begin):
                    wrong("unexpected activity", f"{name} is in {path}")

    def versions(self, cell, table, rest=""):
        """The stored registers: version (the write time) and bytes."""
        engines = self.workload.cluster.engines
        wire, keyspace = engines.connection(), engines.keyspace
        rows = wire.rows(f"SELECT WRITETIME({cell}), {cell} FROM {keyspace}.{table} {rest}", TWO_REPLICAS)
        return [(int.from_bytes(version, "big"), stored) for version, stored in rows if stored]

    def dormancies(self):
        return self.versions("dormancy", "delivery_state", "PER PARTITION LIMIT 1")

    def all_dormant(self):
        """Whether all accounts that were ever dormant are dormant now. Then the first byte of the register is 2."""
        dormant = [stored[0] == 2 for _, stored in self.dormancies()]
        return all(dormant) and len(dormant) >= FANS + DORMANT_READERS

    def figures(self):
        """The numbers of state changes, from the versions: a fan-out state is Preparing (1), Pull (2), Reverted (3),
        Pull (4); a dormancy is Dormant (1), CatchingUp (2), Active (3), Dormant (4)."""
        states = [version for version, _ in self.versions("fanout_state", "fanout_state")]
        dormancies = [version for version, _ in self.dormancies()]
        figures = {
            "accounts prepared for pull": len(states),
            "changes to pull": sum(version // 2 for version in states),
            "changes back to push": sum((version - 1) // 2 for version in states),
            "became dormant": sum((version + 2) // 3 for version in dormancies),
            "reactivated": sum((version + 1) // 3 for version in dormancies),
        }
        for name, figure in figures.items():
            if not figure:
                wrong("never happened", name)
        return {
            **figures,
            "sessions of dormant readers": f"{sum(reader.sessions for reader in self.dormant_readers)}",
            "complete at the first read": f"{sum(reader.complete for reader in self.dormant_readers)}",
            "repeats for dormant readers": sum(reader.repeats for reader in self.dormant_readers),
            f"with fewer than {FEW_NEW} new": sum(reader.unexplained for reader in self.dormant_readers),
        }


def backfill_range(before, after):
    """The lowest activity number that a follower must have, and may have, if it followed between these two states of the
    writer."""
    # One unacknowledged activity may have been created, and one deleted.
    most = [number for number, version in after.items() if version or before.get(number)] + [max(after, default=0) + 1]
    fewest = [number for number, version in before.items() if version and after[number]]

    def newest(numbers, count):
        return sorted(numbers)[-count] if len(numbers) >= count else 0

    return newest(most, BACKFILL), newest(fewest, BACKFILL + 1)
