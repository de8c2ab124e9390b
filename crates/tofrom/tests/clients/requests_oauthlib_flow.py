"""requests-oauthlib against the service: every signature method that both know, in every location.

Reads its parameters as JSON from standard input, prints a line for each successful flow.
"""

import json
import sys

from oauthlib.oauth1 import SIGNATURE_TYPE_AUTH_HEADER, SIGNATURE_TYPE_BODY, SIGNATURE_TYPE_QUERY
from requests_oauthlib import OAuth1Session
from requests_oauthlib.oauth1_session import TokenRequestDenied

from expected import AWKWARD, by_key, collection, identifiers
from person import Person

# Outside of the header oauthlib unescapes a callback once too often, so only the header's has escapes.
PLACES = {
    "header": (SIGNATURE_TYPE_AUTH_HEADER, "http://127.0.0.1:4180/back?a=b%20c&d=%2Be"),
    "query": (SIGNATURE_TYPE_QUERY, "http://localhost:4180/back?a=b"),
    "body": (SIGNATURE_TYPE_BODY, "oob"),
}

params = json.load(sys.stdin)
person, expected = Person(params), by_key(params)


def session(method, place, callback):
    consumer = params["rsa_consumer"] if method == "RSA-SHA1" else params["consumer"]
    made = OAuth1Session(
        consumer["key"], client_secret=consumer["secret"], callback_uri=callback, signature_method=method,
        signature_type=PLACES[place][0], rsa_key=params["rsa_key"] if method == "RSA-SHA1" else None,
    )
    made.headers["Accept"] = "application/json"
    return made


def flow(method, place):
    callback = PLACES[place][1]
    client = session(method, place, callback)
    parameters = {"params" if place == "query" else "data": {"scope": "read write"}}
    given = client.fetch_request_token(f"{params['base']}/oauth/request_token", **parameters)
    assert given["oauth_callback_confirmed"] == "true", given
    location, verifier = person.decide(client.authorization_url(f"{params['base']}/oauth/authorize"))
    if callback == "oob":
        client.fetch_access_token(f"{params['base']}/oauth/access_token", verifier=verifier)
    else:
        assert location.startswith(f"{callback}&oauth_token={given['oauth_token']}&oauth_verifier="), location
        client.parse_authorization_response(location)
        client.fetch_access_token(f"{params['base']}/oauth/access_token")

    # It signs no GET that has a body.
    reader = session(method, "header" if place == "body" else place, None)
    reader.token = client.token
    who = reader.get(f"{params['base']}/200909/whoami").json()["WhoAmI"]
    assert (who["Account"], who["Method"], who["Scopes"]) == (params["account"], "oauth", "read write"), who
    assert identifiers(reader.get(collection(params), params=AWKWARD)) == expected
    end(client, reader, place)
    print("requests-oauthlib", method, place, flush=True)


def end(client, reader, place):
    """Ends the grant, with a body that is signed by its hash where the location allows one."""
    body = {} if place == "body" else {"data": b'{"why": "done"}', "headers": {"Content-Type": "application/json"}}
    client._client.force_include_body = bool(body)
    ended = client.delete(f"{params['base']}/200909/whoami/token", **body)
    assert ended.status_code == 204, ended.text
    if body:
        signed = f"{ended.request.url} {ended.request.headers}"
        assert "oauth_body_hash" in signed, signed
    after = reader.get(f"{params['base']}/200909/whoami")
    assert (after.status_code, after.json()["oauth_problem"]) == (401, "token_revoked"), after.text


def refused():
    """The client receives the denial."""
    client = session("HMAC-SHA1", "header", "http://127.0.0.1:4180/back")
    client.fetch_request_token(f"{params['base']}/oauth/request_token")
    location, _ = person.decide(client.authorization_url(f"{params['base']}/oauth/authorize"), "deny")
    assert client.parse_authorization_response(location)["oauth_problem"] == "user_refused", location
    try:
        client.fetch_access_token(f"{params['base']}/oauth/access_token", verifier="none")
    except TokenRequestDenied as denied:
        assert '"oauth_problem":"user_refused"' in str(denied), denied
        print("requests-oauthlib refused", flush=True)


def quirks():
    """The quirks that docs/oauth.md lists."""
    for place in ("query", "body"):
        try:
            client = session("HMAC-SHA1", place, PLACES["header"][1])
            client.fetch_request_token(f"{params['base']}/oauth/request_token")
        except TokenRequestDenied as denied:
            assert '"oauth_problem":"signature_invalid"' in str(denied), denied
            print("requests-oauthlib quirk: a callback with escapes in the", place, flush=True)
    try:
        session("HMAC-SHA1", "header", None).get(collection(params), data=AWKWARD)
    except ValueError as refusal:
        assert "should not include body" in str(refusal), refusal
        print("requests-oauthlib quirk: a GET with a body", flush=True)


for method in ("HMAC-SHA1", "HMAC-SHA256", "RSA-SHA1", "PLAINTEXT"):
    for place in PLACES:
        flow(method, place)
refused()
quirks()
