"""Requests signed by OAuth 1.0a, for an account that has consented."""

from __future__ import annotations

import re
import ssl
from contextlib import closing
from urllib.parse import parse_qs

import httpx
import oauthlib.oauth1
import pytest

from conftest import note
from service import Demo
from tofrom import Arrived, Client, Unauthorized
from tofrom.oauth import OAuth1


def access_token(demo: Demo) -> tuple[str, str]:
    """The three steps of docs/oauth.md, with a person who signs in and allows."""
    consumer = demo.ready["consumer"]
    with httpx.Client(
        base_url=demo.base, verify=ssl.create_default_context(cafile=demo.ca), follow_redirects=True
    ) as http:

        def token(step: str, **more: str) -> dict[str, str]:
            signer = oauthlib.oauth1.Client(consumer["key"], client_secret=consumer["secret"], **more)
            url, headers, _ = signer.sign(f"{demo.base}/oauth/{step}", http_method="POST")
            answer = http.post(url, headers=headers)
            assert answer.status_code == 200, answer.text
            return {name: values[0] for name, values in parse_qs(answer.text).items()}

        def submit(page: str, **fields: str) -> str:
            hidden = {
                found[1]: found[2]
                for found in re.finditer(r'name="(\w+)" value="([^"]+)"', page)
                if found[1] != "decision"
            }
            answer = http.post("/oauth/authorize", data=hidden | fields)
            assert answer.status_code == 200, answer.text
            return answer.text

        temporary = token("request_token", callback_uri="oob")
        page = http.get("/oauth/authorize", params={"oauth_token": temporary["oauth_token"]}).text
        page = submit(page, username="alice", password=demo.account("alice")["password"])
        page = submit(page, decision="allow")
        verifier = re.search(r'id="verifier"[^>]*>([^<]+)<', page)
        assert verifier, page
        granted = token(
            "access_token",
            resource_owner_key=temporary["oauth_token"],
            resource_owner_secret=temporary["oauth_token_secret"],
            verifier=verifier[1],
        )
        return granted["oauth_token"], granted["oauth_token_secret"]


def test_signed_requests_read_and_follow(demo: Demo, alice: Client, service: str) -> None:
    consumer = demo.ready["consumer"]
    credential = OAuth1(consumer["key"], consumer["secret"], *access_token(demo))
    with Client(demo.base, credential, verify=demo.ca) as client:
        assert client.whoami()["Method"] == "oauth"
        feed = client.collection("alice", type=["photo", "note"], published_since="2009-09-01T00:00:00.000+02:00")
        assert len(list(feed.activities(count=50))) > 50
        with closing(feed.follow(feed.position())) as stream:
            alice.put_activity("alice", service, "1", note("Signed"))
            event = next(stream)
        assert isinstance(event, Arrived) and event.activity["Title"] == "Signed"
        client.revoke_token()
        with pytest.raises(Unauthorized) as ended:
            client.whoami()
        assert ended.value.reason == "token-revoked"
