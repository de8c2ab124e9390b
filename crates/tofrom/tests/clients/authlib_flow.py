"""authlib against the service: every signature method that both know, in every location.

Reads its parameters as JSON from standard input, prints a line for each successful flow.
"""

import json
import sys
from urllib.parse import parse_qs, urlsplit

from authlib.integrations.base_client import OAuthError
from authlib.integrations.requests_client import OAuth1Session
from authlib.oauth1 import SIGNATURE_TYPE_BODY, SIGNATURE_TYPE_HEADER, SIGNATURE_TYPE_QUERY

from expected import AWKWARD, by_key, collection, identifiers
from person import Person

# Authlib unescapes a callback once too often, so none has escapes.
PLACES = {
    "header": (SIGNATURE_TYPE_HEADER, "http://127.0.0.1:4180/back?a=b&c=/d:e"),
    "query": (SIGNATURE_TYPE_QUERY, "http://localhost:4180/back?a=b"),
    "body": (SIGNATURE_TYPE_BODY, "oob"),
}

params = json.load(sys.stdin)
person, expected = Person(params), by_key(params)


def session(method, place, callback, **more):
    consumer = params["rsa_consumer"] if method == "RSA-SHA1" else params["consumer"]
    made = OAuth1Session(
        consumer["key"], consumer["secret"], redirect_uri=callback, signature_method=method,
        signature_type=PLACES[place][0], rsa_key=params["rsa_key"] if method == "RSA-SHA1" else None, **more,
    )
    made.headers["Accept"] = "application/json"
    return made


def flow(method, place):
    callback = PLACES[place][1]
    client = session(method, place, callback)
    parameters = {"params" if place == "query" else "data": {"scope": "read"}}
    given = client.fetch_request_token(f"{params['base']}/oauth/request_token", **parameters)
    assert given["oauth_callback_confirmed"] == "true", given
    # Its address contains the callback, as in OAuth 1.0; the page must ignore it.
    address = client.create_authorization_url(f"{params['base']}/oauth/authorize")
    assert "oauth_callback=" in address, address
    location, verifier = person.decide(address)
    if callback == "oob":
        client.fetch_access_token(f"{params['base']}/oauth/access_token", verifier)
    else:
        assert location.startswith(f"{callback}&oauth_token={given['oauth_token']}&oauth_verifier="), location
        client.parse_authorization_response(location)
        client.fetch_access_token(f"{params['base']}/oauth/access_token")

    # From here on it sends oauth_callback with every request, which must be ignored too.
    who = client.get(f"{params['base']}/200909/whoami").json()["WhoAmI"]
    assert (who["Account"], who["Method"], who["Scopes"]) == (params["account"], "oauth", "read"), who
    parameters = {"data" if place == "body" else "params": AWKWARD}
    assert identifiers(client.get(collection(params), **parameters)) == expected
    if place != "query":
        assert identifiers(client.get(collection(params), data=AWKWARD)) == expected
    end(client, place)
    print("authlib", method, place, flush=True)


def end(client, place):
    """Ends the grant, with a body that is signed by its hash where the location allows one."""
    body = {} if place == "body" else {"data": b'{"why": "done"}', "headers": {"Content-Type": "application/json"}}
    client.auth.force_include_body = bool(body)
    ended = client.delete(f"{params['base']}/200909/whoami/token", **body)
    assert ended.status_code == 204, ended.text
    if body:
        signed = f"{ended.request.url} {ended.request.headers}"
        assert "oauth_body_hash" in signed, signed
    after = client.get(f"{params['base']}/200909/whoami")
    assert (after.status_code, after.json()["oauth_problem"]) == (401, "token_revoked"), after.text


def refused():
    """The client receives the denial."""
    client = session("HMAC-SHA1", "header", "http://127.0.0.1:4180/back")
    client.fetch_request_token(f"{params['base']}/oauth/request_token")
    location, _ = person.decide(client.create_authorization_url(f"{params['base']}/oauth/authorize"), "deny")
    assert parse_qs(urlsplit(location).query)["oauth_problem"] == ["user_refused"], location
    try:
        client.fetch_access_token(f"{params['base']}/oauth/access_token", "none")
    except OAuthError as denied:
        assert '"oauth_problem":"user_refused"' in str(denied), denied
        print("authlib refused", flush=True)


def quirks():
    """The quirks that docs/oauth.md lists."""
    try:
        client = session("HMAC-SHA1", "header", "http://127.0.0.1:4180/back?a=b%20c")
        client.fetch_request_token(f"{params['base']}/oauth/request_token")
    except OAuthError as denied:
        assert '"oauth_problem":"signature_invalid"' in str(denied), denied
        print("authlib quirk: a callback with escapes", flush=True)
    try:
        session("HMAC-SHA1", "header", None).get(f"{collection(params)}?note='")
    except ValueError as refusal:
        assert "invalid characters" in str(refusal), refusal
        print("authlib quirk: an apostrophe in a query", flush=True)


for method in ("HMAC-SHA1", "RSA-SHA1", "PLAINTEXT"):
    for place in PLACES:
        flow(method, place)
refused()
quirks()
