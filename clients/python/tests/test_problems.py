"""Problems as exceptions, and retries."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from conftest import note
from service import Demo
from tofrom import (
    Client,
    Forbidden,
    Invalid,
    NotFound,
    PositionExpired,
    Problem,
    QuotaExceeded,
    TooManyRequests,
    Unauthorized,
    Unavailable,
)

Answer = tuple[int, dict[str, str], bytes]


class Scripted:
    """A server that gives prepared answers, for those that a demo cannot be brought to give."""

    def __init__(self) -> None:
        self.answers: list[Answer | None] = []
        self.requests: list[tuple[str, str]] = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def answer(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                outer.requests.append((self.command, self.path))
                prepared = outer.answers.pop(0)
                if prepared is None:
                    self.close_connection = True
                    return
                status, headers, body = prepared
                self.send_response(status)
                for name, value in ({"Content-Length": str(len(body))} | headers).items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_PUT = do_POST = do_DELETE = answer

            def log_message(self, *_: Any) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.base = f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture
def scripted() -> Iterator[Scripted]:
    scripted = Scripted()
    yield scripted
    scripted.server.shutdown()
    scripted.server.server_close()


WHOAMI: Answer = (200, {}, b'{"WhoAmI":{"Account":"alice","Method":"psk","Scopes":"read"}}')
BUSY: Answer = (503, {"Retry-After": "0"}, b"")


def problem(status: int, kind: str, **members: str) -> Answer:
    document = {"type": f"https://feeds.example/docs/problems/{kind}", "title": kind, "status": status, "detail": "d"}
    return status, {"X-Request-Id": "r1"}, json.dumps(document | members).encode()


def test_problems_of_the_server_have_types(demo: Demo, alice: Client) -> None:
    with pytest.raises(Invalid) as invalid:
        alice.collection("alice").page(count=-1)
    assert (invalid.value.status, invalid.value.kind, invalid.value.parameter) == (400, "parameter", "count")
    assert "expected a whole number" in str(invalid.value) and invalid.value.request_id
    with pytest.raises(Invalid) as missing:
        alice.put_activity("alice", "Notes", "1", {"Title": "x", "Category": "BookmarkShared"})
    assert (missing.value.status, missing.value.field) == (422, "Bookmark")
    with pytest.raises(NotFound):
        alice.collection("dave").page()
    with pytest.raises(Forbidden) as forbidden:
        alice.put_activity("bob", "Notes", "1", note("x"))
    assert forbidden.value.reason == "not-yours"
    with Client(demo.base, alice.create_key("alice", expires_in=600)["Key"], verify=demo.ca) as reader:
        with pytest.raises(Forbidden) as scope:
            reader.put_activity("alice", "Notes", "1", note("x"))
    assert (scope.value.reason, scope.value.scope) == ("scope", "write")


@pytest.mark.parametrize("credential", [("alice", "wrong"), ("unknown", "wrong"), "tfk_wrong"])
def test_a_wrong_credential_is_unauthorized(demo: Demo, credential: Any) -> None:
    with Client(demo.base, credential, verify=demo.ca) as client:
        with pytest.raises(Unauthorized) as refused:
            client.whoami()
        assert refused.value.reason == "bad-credentials"
        with pytest.raises(Unauthorized):
            next(client.collection("alice").follow())


def test_an_unknown_authority_is_an_error(demo: Demo) -> None:
    with (
        Client(demo.base, demo.key("alice"), retries=0) as client,
        pytest.raises(httpx.ConnectError, match="CERTIFICATE"),
    ):
        client.whoami()


def test_other_problems_have_types(scripted: Scripted) -> None:
    with Client(scripted.base, "tfk_x", retries=0) as client:
        for answer, kind in [
            (problem(403, "quota", quota="keys"), QuotaExceeded),
            (problem(410, "cursor-expired", first="https://feeds.example/first"), PositionExpired),
            (problem(410, "name-gone"), Problem),
            (problem(429, "streams"), TooManyRequests),
            (problem(503, "too-broad"), Unavailable),
            (problem(418, "teapot"), Problem),
            ((502, {}, b"<html>from a proxy</html>"), Unavailable),
            ((500, {}, b'"text"'), Problem),
        ]:
            scripted.answers = [answer]
            with pytest.raises(Problem) as raised:
                next(client.collection("alice").poll("position"))
            assert type(raised.value) is kind and raised.value.status == answer[0]
            if isinstance(raised.value, PositionExpired):
                assert raised.value.first == "https://feeds.example/first"
            if isinstance(raised.value, QuotaExceeded):
                assert (raised.value.quota, raised.value.request_id) == ("keys", "r1")


def test_safe_requests_are_repeated(scripted: Scripted) -> None:
    with Client(scripted.base, "tfk_x") as client:
        scripted.answers = [BUSY, None, (429, {"Retry-After": "0"}, b""), WHOAMI]
        assert client.whoami()["Account"] == "alice"
        assert len(scripted.requests) == 4
        scripted.answers = [BUSY, (201, {"Location": "https://x/activity/1"}, b"")]
        assert client.put_activity("alice", "Notes", "1", note("x")).identifier == "1"


def test_retries_end(scripted: Scripted) -> None:
    with Client(scripted.base, "tfk_x", retries=1) as client:
        scripted.answers = [BUSY] * 2
        with pytest.raises(Unavailable):
            client.whoami()
        # Longer than a caller would wait.
        scripted.answers = [(503, {"Retry-After": "3600"}, b"")]
        with pytest.raises(Unavailable) as late:
            client.whoami()
        assert late.value.retry_after == 3600


@pytest.mark.parametrize("answer", [BUSY, None])
def test_unsafe_requests_are_not_repeated(scripted: Scripted, answer: Answer | None) -> None:
    with Client(scripted.base, "tfk_x") as client:
        for call in [
            lambda: client.create_key("alice"),
            lambda: client.delete_activity("alice", "Notes", "1"),
            lambda: client.put_hook("alice", "h", "https://example.org/"),
        ]:
            scripted.answers, scripted.requests = [answer], []
            with pytest.raises((Unavailable, httpx.TransportError)):
                call()
            assert len(scripted.requests) == 1


def test_a_wrong_password_is_not_repeated(scripted: Scripted) -> None:
    with Client(scripted.base, ("alice", "wrong")) as client:
        scripted.answers = [problem(429, "throttled")]
        with pytest.raises(TooManyRequests):
            client.whoami()
