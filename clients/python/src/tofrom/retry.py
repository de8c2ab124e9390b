"""When a request is sent again, and after which pause."""

from __future__ import annotations

import random

import httpx

from .problems import Problem

MAX_PAUSE = 60.0
"""A request that would have to wait longer fails at once, with `retry_after`."""


def backoff(attempt: int) -> float:
    """A random pause in seconds that grows with each attempt, from 0.25 up to 30."""
    return float(min(30.0, 0.5 * 2**attempt) * random.uniform(0.5, 1.0))


def pause(error: Problem | httpx.TransportError, *, attempt: int, repeatable: bool) -> float | None:
    """The pause before the next attempt; `None` if there is none.

    `repeatable` says that a second execution does no harm. A request that is not repeatable is sent again only if the
    first one was certainly not executed.
    """
    if isinstance(error, httpx.TransportError):
        not_sent = isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout))
        return backoff(attempt) if repeatable or not_sent else None
    refused = error.status == 429 and error.kind != "throttled"
    unavailable = error.status in (502, 503, 504) and error.kind != "too-broad"
    if not (refused or (unavailable and repeatable)):
        return None
    seconds = backoff(attempt) if error.retry_after is None else error.retry_after
    return seconds if seconds <= MAX_PAUSE else None
