"""Problems of RFC 9457 as exceptions.

`Problem` is the base. It has a subclass for each kind that a program handles in its own way; every other kind is a
plain `Problem`, so a kind that a newer server adds is never lost.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import httpx

__all__ = [
    "Forbidden",
    "Invalid",
    "NotFound",
    "PositionExpired",
    "Problem",
    "QuotaExceeded",
    "TooManyRequests",
    "Unauthorized",
    "Unavailable",
]


class Problem(Exception):
    """The server refused a request, or failed."""

    status: int
    """The HTTP status."""
    kind: str
    """The last segment of `type`, such as `parameter`; empty if the answer was no problem document."""
    title: str
    detail: str
    members: Mapping[str, Any]
    """All members of the document, those of the kind too, such as `parameter` and `field`."""
    retry_after: float | None
    """Seconds after which the request may succeed."""
    request_id: str | None
    """Name it when you report the problem to the server's operator."""

    def __init__(
        self, members: Mapping[str, Any], *, retry_after: float | None = None, request_id: str | None = None
    ) -> None:
        self.members = members
        self.status = int(members.get("status", 0))
        self.kind = str(members.get("type", "")).rpartition("/docs/problems/")[2]
        self.title = str(members.get("title", ""))
        self.detail = str(members.get("detail", ""))
        self.retry_after = retry_after
        self.request_id = request_id
        super().__init__(f"{self.status} {self.title}: {self.detail}".removesuffix(": "))

    @staticmethod
    def from_members(
        members: Mapping[str, Any], *, retry_after: float | None = None, request_id: str | None = None
    ) -> Problem:
        """The problem of a document, as the class of its kind."""
        plain = Problem(members, retry_after=retry_after, request_id=request_id)
        chosen = _KINDS.get(plain.kind) or _STATUSES.get(plain.status) or Problem
        return chosen(members, retry_after=retry_after, request_id=request_id)

    @staticmethod
    def from_response(response: httpx.Response) -> Problem:
        """The problem of a response that was read. Its body may come from a proxy, or be missing."""
        members: dict[str, Any] = {"title": response.reason_phrase}
        try:
            document = json.loads(response.content)
        except ValueError:
            document = None
        if isinstance(document, dict):
            members |= document
        members["status"] = response.status_code
        seconds = response.headers.get("Retry-After", "")
        return Problem.from_members(
            members,
            retry_after=float(seconds) if seconds.isdecimal() else None,
            request_id=response.headers.get("X-Request-Id"),
        )


class Invalid(Problem):
    """A parameter, a field or the body is invalid (400, 413, 415, 422)."""

    @property
    def parameter(self) -> str | None:
        """The invalid parameter of the query."""
        return self.members.get("parameter")

    @property
    def field(self) -> str | None:
        """The invalid or missing field of the body, such as `Bookmark.Url`."""
        return self.members.get("field")


class Unauthorized(Problem):
    """No valid credential (401)."""

    @property
    def reason(self) -> str | None:
        """Why, as a code: `bad-credentials`, `token-revoked` and so on."""
        return self.members.get("reason")


class Forbidden(Problem):
    """The credential is valid, but not for this (403)."""

    @property
    def reason(self) -> str | None:
        """Why, as a code: `scope`, `not-yours` and so on."""
        return self.members.get("reason")

    @property
    def scope(self) -> str | None:
        """The required scope."""
        return self.members.get("scope")


class QuotaExceeded(Forbidden):
    """The account has as many of something as it may have (403)."""

    @property
    def quota(self) -> str | None:
        """What it has too many of, such as `keys`."""
        return self.members.get("quota")


class NotFound(Problem):
    """Nothing is here, or nothing that the caller may see (404)."""


class PositionExpired(Problem):
    """The position is older than the server remembers (410): read the collection again, and go on from there."""

    @property
    def first(self) -> str | None:
        """The address of the first page of the collection."""
        return self.members.get("first")


class TooManyRequests(Problem):
    """Too many requests, streams or wrong credentials (429)."""


class Unavailable(Problem):
    """The server cannot answer now (502, 503, 504)."""


_KINDS: Final[Mapping[str, type[Problem]]] = {"quota": QuotaExceeded, "cursor-expired": PositionExpired}
_STATUSES: Final[Mapping[int, type[Problem]]] = {
    400: Invalid,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    413: Invalid,
    415: Invalid,
    422: Invalid,
    429: TooManyRequests,
    502: Unavailable,
    503: Unavailable,
    504: Unavailable,
}
