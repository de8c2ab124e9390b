"""The data that every client reads, and the expected result."""

import requests

# Repeated, with a plus sign, with characters that have a meaning in URLs, beyond ASCII, and empty.
AWKWARD = [
    ("count", "7"),
    ("orderby", "pubDate"),
    ("publishedsince", "2009-09-01T00:00:00.000+02:00"),
    ("type", "photo"),
    ("type", "video"),
    ("verb", "posted,liked"),
    ("note", "a b+c&d=e%20/?:@!$'()*~;,é✓🎉"),
    ("empty", ""),
]


def collection(params):
    return f"{params['base']}/200909/activity/{params['account']}/tofrom"


def identifiers(answer):
    assert answer.status_code == 200, answer.text
    # A client signs each link that it follows.
    assert 'rel="next"' in answer.headers["Link"] and "oauth_" not in answer.headers["Link"], answer.headers
    return [activity["ActivityIdentifier"] for activity in answer.json()["Activities"]["Activity"]]


def by_key(params):
    """The same read with the account's key."""
    headers = {"ServicePSK": params["key"], "Accept": "application/json"}
    found = identifiers(requests.get(collection(params), params=AWKWARD, headers=headers))
    assert len(found) == 7, found
    return found
