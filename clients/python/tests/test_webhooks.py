"""Verification of deliveries, against the reference implementation of Standard Webhooks."""

from __future__ import annotations

import base64
import json
import os
from datetime import datetime, timedelta, timezone

import pytest
from standardwebhooks import Webhook

from tofrom.webhooks import Delivery, InvalidDelivery, verify

OLD, NEW = (f"whsec_{base64.b64encode(os.urandom(24)).decode()}" for _ in range(2))
DATA = {"Title": "Grüße ✓"}
BODY = json.dumps({"type": "activity", "timestamp": "2026-11-18T02:00:00Z", "data": DATA}, ensure_ascii=False)


def signed(*secrets: str, at: datetime | None = None, body: str = BODY) -> dict[str, str]:
    at = at or datetime.now(timezone.utc)
    signatures = " ".join(Webhook(secret).sign("msg_1", at, body) for secret in secrets)
    return {"webhook-id": "msg_1", "webhook-timestamp": str(int(at.timestamp())), "webhook-signature": signatures}


def test_a_delivery_is_verified() -> None:
    headers = signed(OLD)
    assert verify(headers, BODY.encode(), OLD) == Delivery("msg_1", "activity", "2026-11-18T02:00:00Z", DATA)
    in_capitals = {name.title(): value for name, value in headers.items()}
    assert verify(in_capitals, BODY.encode(), OLD).id == "msg_1"


def test_a_rotation_loses_nothing() -> None:
    # The server signs with both; the receiver knows the old one, the new one or both.
    for secrets in (OLD, NEW, [OLD, NEW], [NEW]):
        assert verify(signed(OLD, NEW), BODY.encode(), secrets).data == DATA
    # Afterwards the server signs with the new one only.
    assert verify(signed(NEW), BODY.encode(), [OLD, NEW]).data == DATA
    with pytest.raises(InvalidDelivery, match="signature"):
        verify(signed(NEW), BODY.encode(), OLD)


def test_other_signatures_are_ignored() -> None:
    headers = signed(OLD)
    headers["webhook-signature"] = f"v1a,abc v2,def v1,é {headers['webhook-signature']} v1,"
    assert verify(headers, BODY.encode(), OLD).id == "msg_1"


@pytest.mark.parametrize("minutes", [-6, 6])
def test_the_time_must_be_near(minutes: int) -> None:
    headers = signed(OLD, at=datetime.now(timezone.utc) + timedelta(minutes=minutes))
    with pytest.raises(InvalidDelivery, match="clock"):
        verify(headers, BODY.encode(), OLD)
    assert verify(headers, BODY.encode(), OLD, tolerance=600).id == "msg_1"


@pytest.mark.parametrize(
    "change",
    [
        {"webhook-id": "msg_2"},
        {"webhook-id": ""},
        {"webhook-timestamp": "1e9"},
        {"webhook-timestamp": "٣"},
        {"webhook-signature": "v1,AAAA"},
        {"webhook-signature": ""},
    ],
)
def test_a_changed_header_is_refused(change: dict[str, str]) -> None:
    with pytest.raises(InvalidDelivery):
        verify(signed(OLD) | change, BODY.encode(), OLD)


def test_a_changed_body_is_refused() -> None:
    with pytest.raises(InvalidDelivery):
        verify(signed(OLD), BODY.encode() + b" ", OLD)
    with pytest.raises(InvalidDelivery, match="expected JSON"):
        verify(signed(OLD, body="[]"), b"[]", OLD)


def test_a_wrong_secret_is_a_mistake_of_the_receiver() -> None:
    with pytest.raises(ValueError, match="whsec_"):
        verify(signed(OLD), BODY.encode(), "whsec_not base64")
