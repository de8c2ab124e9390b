"""The seen position, unread counts and hooks."""

from __future__ import annotations

from contextlib import closing

import pytest

from conftest import note
from tofrom import Arrived, Client, NotFound, Seen


@pytest.fixture(autouse=True)
def supported(alice: Client) -> None:
    try:
        alice.collection("alice").unread()
    except NotFound:
        pytest.skip("the server does not count unread activities")


def test_unread_counts_what_arrived_after_the_seen_position(alice: Client, service: str) -> None:
    feed = alice.collection("alice", "from", service=service)
    feed.mark_seen()
    position = feed.position()
    for number in range(3):
        alice.put_activity("alice", service, str(number), note(str(number)))
    with closing(feed.follow(position)) as stream:
        first, second, third = next(stream), next(stream), next(stream)
        assert isinstance(first, Arrived) and isinstance(second, Arrived) and isinstance(third, Arrived)
        unread = feed.unread()
        assert (unread.count, unread.at_least) == (3, False)
        assert [activity["Title"] for activity in feed.updates(unread.position).activities] == ["0", "1", "2"]
        feed.mark_seen(second.position)
        # Other devices of the account are notified, and their own position stays.
        seen = next(event for event in stream if isinstance(event, Seen))
    assert feed.unread().count == 1
    assert len(feed.updates(seen.cursor).activities) == 1
    feed.mark_seen(first.position)
    assert feed.unread().count == 1, "the seen position moves forward only"


def test_a_hook_is_created_rotated_and_removed(alice: Client) -> None:
    created = alice.put_hook("alice", "search", "https://93.184.216.34/hook", "from", type=["note"], verb="posted")
    assert created["Secret"].startswith("whsec_") and created["Type"] == ["note"]
    assert "Secret" not in alice.hook("alice", "search")
    assert [hook["Name"] for hook in alice.hooks("alice")] == ["search"]
    assert "Secret" not in alice.put_hook("alice", "search", "https://93.184.216.34/other", "from")
    assert alice.rotate_hook("alice", "search")["Secret"] != created["Secret"]
    alice.resume_hook("alice", "search")
    alice.delete_hook("alice", "search")
    with pytest.raises(NotFound):
        alice.hook("alice", "search")
