"""Verifies deliveries of hooks by the Standard Webhooks specification (https://www.standardwebhooks.com)."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["Delivery", "InvalidDelivery", "verify"]


class InvalidDelivery(Exception):
    """The request does not come from the server, is too old, or was changed. Answer it with 400."""


@dataclass(frozen=True)
class Delivery:
    """A verified delivery of a hook."""

    id: str
    """Equal for repeats of a delivery. Ignore an id that was already processed."""
    type: Literal["activity", "deleted", "incomplete", "ping"]
    timestamp: str
    data: Mapping[str, Any]
    """The activity as in JSON, `ActivityIdentifier` of a deleted one, or `Url` of the collection to read again."""


def verify(
    headers: Mapping[str, str],
    body: bytes,
    secrets: str | Iterable[str],
    *,
    tolerance: float = 300,
    now: float | None = None,
) -> Delivery:
    """Verifies a request and returns its delivery.

    `headers` may spell the names in any case. `body` must be the bytes as received. `secrets` is the hook's secret
    (`whsec_…`), or several of them while one replaces the other: one match is enough. A timestamp that differs from
    now by more than `tolerance` seconds is refused, so that a recorded request cannot be repeated.

    Raises `InvalidDelivery`.
    """
    found = {name.lower(): value for name, value in headers.items()}
    identifier, timestamp = found.get("webhook-id", ""), found.get("webhook-timestamp", "")
    signatures = found.get("webhook-signature", "")
    if not (identifier and timestamp and signatures):
        raise InvalidDelivery("a webhook header is missing: expected webhook-id, webhook-timestamp, webhook-signature")
    if not (timestamp.isascii() and timestamp.isdecimal()):
        raise InvalidDelivery("webhook-timestamp: expected whole seconds since 1970")
    if abs((time.time() if now is None else now) - int(timestamp)) > tolerance:
        raise InvalidDelivery(f"webhook-timestamp differs from the clock by more than {tolerance:g} seconds")
    content = f"{identifier}.{timestamp}.".encode() + body
    expected = [_signature(secret, content) for secret in ([secrets] if isinstance(secrets, str) else secrets)]
    received = [text.removeprefix("v1,").encode() for text in signatures.split() if text.startswith("v1,")]
    # Compares every pair, so that the time does not depend on which one matches.
    matches = [hmac.compare_digest(one, other) for one in expected for other in received]
    if not any(matches):
        raise InvalidDelivery("webhook-signature: no signature is valid for the secret")
    try:
        document = json.loads(body)
        return Delivery(identifier, document["type"], document["timestamp"], document["data"])
    except (ValueError, KeyError, TypeError):
        raise InvalidDelivery("body: expected JSON with type, timestamp and data") from None


def _signature(secret: str, content: bytes) -> bytes:
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except binascii.Error:
        raise ValueError("invalid secret: expected whsec_ and base64") from None
    return base64.b64encode(hmac.new(key, content, hashlib.sha256).digest())
