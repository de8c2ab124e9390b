"""Pushes one activity, and follows the account's collection live until it is stopped.

    python3 examples/live/client.py https://127.0.0.1:8443 ca.pem alice tfk_…

After a disconnect it reconnects with the id of the last event and continues without a gap or a repeat.
"""

import http.client
import json
import re
import ssl
import sys
import time
import urllib.error
import urllib.request
import uuid

base, authority, account, key = sys.argv[1:5]
trust = ssl.create_default_context(cafile=authority)


def send(method, url, headers, body=None):
    # The server sends at least a comment every 15 seconds. After 40 silent seconds the connection is dead.
    request = urllib.request.Request(url, body, {"ServicePSK": key, **headers}, method=method)
    return urllib.request.urlopen(request, context=trust, timeout=40)


def events(response):
    """The events of a stream, each as a dictionary of its fields."""
    event = {}
    for line in response:
        line = line.decode().rstrip("\r\n")
        name, _, value = line.partition(":")
        if not line:
            yield event
            event = {}
        elif name:  # A line that begins with a colon is a comment.
            event[name] = value.removeprefix(" ")


def show(event):
    """Prints an event."""
    data = json.loads(event["data"])
    if event["event"] == "activity":
        print("activity", data["ActivityIdentifier"], data["Title"], flush=True)
    elif event["event"] == "deleted":
        print("deleted", data["ActivityIdentifier"], flush=True)
    elif event["event"] == "incomplete":
        # Too many changes for single events: read the collection again from this address.
        print("incomplete", data["Url"], flush=True)


# The current position of the collection. The stream contains everything after it, even if it is opened later.
page = send("GET", f"{base}/200909/activity/{account}/tofrom?count=0", {"Accept": "application/json"})
updates = re.search(r'<([^>]*)>; rel="updates"', page.headers["Link"])[1]

activity = {
    "Category": "NotePosted",
    "Title": f"{account} says hello from Python",
    "Note": {"Title": "Hello"},
}
address = f"{base}/200909/activity/{account}/from/Examples/{uuid.uuid4()}"
pushed = send("PUT", address, {"Content-Type": "application/json"}, json.dumps(activity).encode())
print("pushed", pushed.headers["Location"], flush=True)

headers = {"Accept": "text/event-stream"}
pause = 1.0
while True:
    try:
        with send("GET", updates, headers) as stream:
            for event in events(stream):
                if "retry" in event:
                    pause = int(event["retry"]) / 1000
                if "data" in event:
                    show(event)
                # Store the id only after the event was processed.
                if "id" in event:
                    headers["Last-Event-ID"] = event["id"]
    except urllib.error.HTTPError as refused:
        if refused.code not in (429, 503):
            sys.exit(f"{refused.code}: {refused.read().decode()}")
    except (OSError, http.client.HTTPException) as cut:
        print("cut:", cut, file=sys.stderr)
    time.sleep(pause)
