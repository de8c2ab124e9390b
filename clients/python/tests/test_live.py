"""Live streams: nothing is missing and nothing comes twice, however connections end."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from conftest import note
from service import Behaviour, Demo, Proxy, cut_after, dribble
from tofrom import Arrived, Client, Collection, Deleted, Event, Incomplete, PositionExpired, Unauthorized, Written
from tofrom.events import Decoder


def client_of(demo: Demo, base: str | None = None, name: str = "alice") -> Client:
    return Client(base or demo.base, demo.key(name), verify=demo.ca)


def write(client: Client, service: str, numbers: Iterable[int]) -> None:
    title = "Note {} é✓\u0085"
    items = [
        {"SourceId": str(number), "SourceService": {"Name": service}, **note(title.format(number))}
        for number in numbers
    ]
    assert all(isinstance(result, Written) for result in client.post_activities("alice", items))


def in_background(work: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def numbers(feed: Collection, position: str, count: int, **more: float) -> list[int]:
    """The numbers of the notes that arrive."""
    with closing(feed.follow(position, **more)) as stream:
        events = list(itertools.islice(stream, count))
    return [int(event.activity["Title"].split()[1]) for event in events if isinstance(event, Arrived)]


def test_events_arrive_in_order_and_once(demo: Demo, alice: Client, service: str) -> None:
    feed = alice.collection("alice", "from", service=service)
    position = feed.position()
    write(alice, service, range(30))
    assert numbers(feed, position, 30) == list(range(30))
    # Any event's position resumes after it.
    with closing(feed.follow(position)) as stream:
        middle = list(itertools.islice(stream, 12))[-1].position
    assert numbers(feed, middle, 18) == list(range(12, 30))
    alice.delete_activity("alice", service, "29")
    with closing(feed.follow(position)) as stream:
        *_, last = itertools.islice(stream, 30)
    assert isinstance(last, Deleted)


def test_a_follower_without_a_position_begins_now(demo: Demo, alice: Client, service: str) -> None:
    arriving = alice.collection("alice", "from", service=service)
    position = arriving.position()
    write(alice, service, [1])
    # What is accepted arrives a moment later.
    assert numbers(arriving, position, 1) == [1]
    feed = alice.collection("alice", "from", service=service, order_by="pubDate")
    with client_of(demo) as writer, closing(feed.follow()) as stream:
        in_background(lambda: (time.sleep(1), write(writer, service, [2]))[1])
        event = next(stream)
    assert isinstance(event, Arrived) and event.activity["Title"].startswith("Note 2")


def test_a_kill_of_the_server_makes_no_hole(own_demo: Demo) -> None:
    with client_of(own_demo) as writer, client_of(own_demo) as reader:
        feed = reader.collection("alice", "from", service="Kills")
        position = feed.position()

        def work() -> None:
            for number in range(60):
                if number % 20 == 10:
                    own_demo.kill()
                    own_demo.start()
                write(writer, "Kills", [number])

        writing = in_background(work)
        assert numbers(feed, position, 60) == list(range(60))
        writing.join()


@pytest.mark.parametrize("behaviour", [cut_after(24_000), dribble], ids=["cut", "dribble"])
def test_a_bad_proxy_makes_no_hole(demo: Demo, alice: Client, service: str, behaviour: Behaviour) -> None:
    position = alice.collection("alice", "from", service=service).position()
    write(alice, service, range(120))
    with Proxy(demo.port, behaviour) as proxy, client_of(demo, proxy.base) as client:
        feed = client.collection("alice", "from", service=service)
        assert numbers(feed, position, 120) == list(range(120))
        assert behaviour is dribble or proxy.connections > 2


def test_a_silent_connection_counts_as_broken(demo: Demo, alice: Client, service: str) -> None:
    position = alice.collection("alice", "from", service=service).position()
    with Proxy(demo.port) as proxy, client_of(demo, proxy.base) as client:
        feed = client.collection("alice", "from", service=service)
        write(alice, service, [1])
        with closing(feed.follow(position, silence=1)) as stream:
            next(stream)
            proxy.stalled = True
            in_background(lambda: (time.sleep(2), setattr(proxy, "stalled", False))[1])
            write(alice, service, [2])
            started = proxy.connections
            event = next(stream)
        assert isinstance(event, Arrived) and event.activity["Title"].startswith("Note 2")
        assert proxy.connections > started


def test_a_slow_reader_gets_everything(demo: Demo, alice: Client, service: str) -> None:
    feed = alice.collection("alice", "from", service=service)
    position = feed.position()
    write(alice, service, range(50))
    found = []
    with closing(feed.follow(position, silence=0.5)) as stream:
        for event in itertools.islice(stream, 50):
            assert isinstance(event, Arrived)
            found.append(int(event.activity["Title"].split()[1]))
            # Longer than the allowed silence: the time of the reader does not count.
            time.sleep(0.8 if len(found) in (5, 30) else 0)
    assert found == list(range(50))


def test_an_unfollow_is_incomplete(demo: Demo, operator: Client) -> None:
    with client_of(demo, name="erin") as erin:
        feed = erin.collection("erin", "to")
        erin.add_following("erin", "bob")
        position = feed.position()
        erin.remove_following("erin", "bob")
        with closing(feed.follow(position)) as stream:
            event: Event = next(event for event in stream if isinstance(event, Incomplete))
    assert isinstance(event, Incomplete) and event.url.startswith(f"{demo.base}/200909/activity/erin/to")


def test_a_lost_position_is_reported(own_demo: Demo, tmp_path: Path) -> None:
    backup = tmp_path / "backup.db"
    with client_of(own_demo) as client:
        feed = client.collection("alice", "from")
        position = feed.position()
        own_demo.command("backup", str(backup))
        write(client, "Lost", range(3))
        with closing(feed.follow(position)) as stream:
            position = list(itertools.islice(stream, 3))[-1].position
        own_demo.kill()
        own_demo.command("restore", str(backup))
        own_demo.start()
        # The server no longer knows what came before the position: it is newer than the backup.
        with closing(feed.follow(position)) as stream:
            event = next(stream)
        assert isinstance(event, Incomplete)
        assert feed.updates(event.position).activities == []
        with pytest.raises(PositionExpired) as expired:
            next(feed.poll(position))
        assert expired.value.first


def test_a_revoked_key_ends_the_stream(demo: Demo, alice: Client) -> None:
    key = alice.create_key("alice", expires_in=600)
    with Client(demo.base, key["Key"], verify=demo.ca) as reader:
        stream = reader.collection("alice").follow()
        in_background(lambda: (time.sleep(1), alice.revoke_key("alice", key["Id"]))[1])
        with pytest.raises(Unauthorized):
            next(stream)


def test_a_first_connection_that_fails_is_an_error(demo: Demo) -> None:
    with Proxy(1) as proxy, Client(proxy.base, "tfk_x", verify=demo.ca, retries=1) as client:
        with pytest.raises(httpx.TransportError):
            next(client.collection("alice").follow("position"))


def test_the_decoder_takes_pieces_of_any_size() -> None:
    text = ':\n\nevent: activity\r\nid: 1\r\ndata: {"Title": "é\u2028\u0085"}\r\n\r\n'
    text += "retry: 700\n\nevent: new\ndata: a\rdata:b\r\rid: 2\n\n"
    for size in (1, 2, 3, 1000):
        decoder, found = Decoder(), []
        raw = text.encode()
        for at in range(0, len(raw), size):
            found += [
                (message.event, message.id, "\n".join(message.data)) for message in decoder.feed(raw[at : at + size])
            ]
        assert found == [("activity", "1", '{"Title": "é\u2028\u0085"}'), ("new", None, "a\nb")]
        assert decoder.retry == 0.7
