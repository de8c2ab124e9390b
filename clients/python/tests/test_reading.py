"""Reading and writing: pages, filters, updates, accounts, keys."""

from __future__ import annotations

import time
from datetime import datetime, timedelta, timezone

import pytest

from conftest import note
from service import Demo, Proxy
from tofrom import AsyncClient, Client, NotFound, Problem, Unauthorized, Written, object_of


def test_pages_have_each_activity_once(alice: Client) -> None:
    pages = list(alice.collection("alice").pages(count=60))
    identifiers = [activity["ActivityIdentifier"] for page in pages for activity in page.activities]
    assert len(pages) > 3 and len(identifiers) == len(set(identifiers)) > 300
    assert [page.next is None for page in pages] == [False] * (len(pages) - 1) + [True]
    assert identifiers == [activity["ActivityIdentifier"] for activity in alice.collection("alice").activities()]


def test_filters_select(alice: Client) -> None:
    found = list(alice.collection("alice", "tofrom", type=["photo", "bookmark"], verb="posted").activities())
    assert found and {object_of(activity)[0] for activity in found} <= {"Photo", "Bookmark"}
    assert all(activity["Category"].endswith("Posted") for activity in found)
    page = alice.collection("alice", order_by="pubDate").page(count=3, start=1)
    assert len(page.activities) == 3
    since = datetime.now(timezone.utc) + timedelta(days=1)
    assert alice.collection("alice", received_since=since).page().activities == []
    with pytest.raises(ValueError, match="received_?since"):
        alice.collection("alice", received_since=datetime(2009, 9, 1))


def test_an_activity_is_written_read_and_deleted(alice: Client, service: str) -> None:
    source = "a/b c?é"
    first = alice.put_activity("alice", service, source, note("Hello"))
    again = alice.put_activity("alice", service, source, note("Hello again"))
    assert (first.created, again.created, again.url) == (True, False, first.url)
    read = alice.authored_activity("alice", service, source)
    assert read == alice.activity(first.identifier) and read["Title"] == "Hello again"
    # The object of an unknown type, and the answer of a read put back.
    alice.put_activity(
        "alice", service, "opera", {"Verb": "seen", "Type": "opera", "Title": "x", "Opera": {"Title": "Aida"}}
    )
    opera = alice.authored_activity("alice", service, "opera")
    assert object_of(opera) == ("Opera", {"Title": "Aida"})
    assert not alice.put_activity("alice", service, "opera", opera).created
    alice.delete_activity("alice", service, source)
    with pytest.raises(NotFound):
        alice.delete_activity("alice", service, source)


def test_a_batch_reports_each_activity(alice: Client, service: str) -> None:
    good = {"SourceService": {"Name": service}, **note("x")}
    items = [{"SourceId": str(number), **good} for number in range(1_001)]
    items[7] = {"SourceId": "7", "SourceService": {"Name": service}, "Category": "NotePosted"}
    results = alice.post_activities("alice", items)
    assert len(results) == 1_001
    assert all(isinstance(result, Written) and result.created for result in results[:7] + results[8:])
    assert isinstance(results[7], Problem) and results[7].status == 422 and "Title" in results[7].detail
    assert len(list(alice.collection("alice", "from", service=service).activities(count=500))) == 1_000


def test_updates_bring_what_arrived(alice: Client, service: str) -> None:
    feed = alice.collection("alice", "from", service=service)
    position = feed.position()
    for number in range(5):
        alice.put_activity("alice", service, str(number), note(str(number)))
    titles = []
    poll = feed.poll(position, count=2, interval=0.1)
    while len(titles) < 5:
        page = next(poll)
        titles += [activity["Title"] for activity in page.activities]
        position = page.position
    assert titles == ["0", "1", "2", "3", "4"]
    assert feed.updates(position).activities == []
    # The last page of a walk covers the walk.
    *_, last = feed.pages(count=2)
    assert feed.updates(last.position).activities == []


def test_requests_stay_at_the_address_of_the_client(demo: Demo) -> None:
    # Links in answers name the public address, which is not the proxy's.
    with Proxy(demo.port) as proxy, Client(proxy.base, demo.key("alice"), verify=demo.ca) as client:
        assert len(list(client.collection("alice", type="photo").activities(count=10))) > 10
        assert proxy.connections == 1


def test_accounts_and_following(operator: Client, alice: Client) -> None:
    operator.put_user("zoe", {"GivenName": "Zoë", "Public": True})
    assert operator.user("zoe").get("GivenName") == "Zoë"
    alice.add_following("alice", "zoe")
    assert "zoe" in [user["UserIdentifier"] for user in alice.following("alice")]
    assert [user["UserIdentifier"] for user in operator.followers("zoe")] == ["alice"]
    alice.add_following("alice", "zoe", {"Service": ["flickr"]})
    alice.remove_following("alice", "zoe")
    alice.mute("alice", "zoe")
    alice.block("alice", "zoe")
    alice.remove_follower("alice", "zoe")
    for listed in (alice.muted, alice.blocked):
        assert [user["UserIdentifier"] for user in listed("alice")] == ["zoe"]
    alice.unmute("alice", "zoe")
    alice.unblock("alice", "zoe")
    assert [*alice.muted("alice"), *alice.blocked("alice")] == []
    operator.delete_user("zoe")
    with pytest.raises(NotFound):
        operator.user("zoe")


def test_a_short_key_reads_and_is_revoked(demo: Demo, alice: Client) -> None:
    created = alice.create_key("alice", name="phone", expires_in=600)
    assert created["Scope"] == "read" and created["Id"] in [key["Id"] for key in alice.keys("alice")]
    with Client(demo.base, created["Key"], verify=demo.ca) as phone:
        assert phone.whoami()["Scopes"] == "read"
        alice.revoke_key("alice", created["Id"])
        # A revocation takes effect within 5 seconds.
        time.sleep(5)
        with pytest.raises(Unauthorized):
            phone.whoami()


@pytest.mark.anyio
async def test_the_asynchronous_client_reads(demo: Demo, service: str) -> None:
    async with AsyncClient(demo.base, ("alice", demo.account("alice")["password"]), verify=demo.ca) as client:
        assert (await client.whoami())["Method"] == "basic"
        feed = client.collection("alice", "from", service=service)
        position = await feed.position()
        await client.put_activity("alice", service, "1", note("Hello"))
        assert [activity["Title"] async for activity in feed.activities()] == ["Hello"]
        stream = feed.follow(position)
        event = await anext(stream)
        assert event.position != position
        await stream.aclose()


def test_a_plain_address_is_refused() -> None:
    with pytest.raises(ValueError, match="expected https"):
        Client("http://feeds.example.org", "tfk_x")


def test_a_credential_is_in_no_representation(demo: Demo) -> None:
    key = demo.key("alice")
    with Client(demo.base, key, verify=demo.ca) as client:
        assert key not in repr(client) + repr(vars(client))
