"""A reader for scripts/prove-no-hole: follows or polls a collection from a position, and prints what arrives.

Reads a line of JSON from standard input: `base`, `ca`, `account`, `key`, `collection`, `filters`, `position` and `mode`
(`follow` or `poll`). Prints a line of JSON for each event or page: the titles, the position, and events other than
activities.
"""

from __future__ import annotations

import json
import sys

from tofrom import Arrived, Client

settings = json.loads(sys.stdin.readline())
client = Client(settings["base"], settings["key"], verify=settings["ca"], retries=20)
feed = client.collection(settings["account"], settings["collection"], **settings["filters"])


def report(titles: list[str], position: str, unexpected: str | None = None) -> None:
    print(json.dumps({"titles": titles, "position": position, "unexpected": unexpected}), flush=True)


if settings["mode"] == "follow":
    for event in feed.follow(settings["position"]):
        if isinstance(event, Arrived):
            report([event.activity["Title"]], event.position)
        else:
            report([], event.position, type(event).__name__)
else:
    for page in feed.poll(settings["position"], interval=0.3):
        report([activity["Title"] for activity in page.activities], page.position)
