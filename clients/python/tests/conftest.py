"""Fixtures: a demo for all tests, and clients of its accounts."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from service import Demo
from tofrom import Client, NewActivity

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    demo = Demo(tmp_path_factory.mktemp("demo"))
    yield demo
    demo.kill()


@pytest.fixture
def own_demo(tmp_path: Path) -> Iterator[Demo]:
    """A demo that the test may kill."""
    demo = Demo(tmp_path / "demo")
    yield demo
    demo.kill()


@pytest.fixture
def alice(demo: Demo) -> Iterator[Client]:
    with Client(demo.base, demo.key("alice"), verify=demo.ca) as client:
        yield client


@pytest.fixture
def operator(demo: Demo) -> Iterator[Client]:
    with Client(demo.base, demo.key("ops"), verify=demo.ca) as client:
        yield client


@pytest.fixture
def service() -> str:
    """The name of a service that no other test uses."""
    return f"Service {next(_numbers)}"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def note(title: str) -> NewActivity:
    return {"Category": "NotePosted", "Title": title, "Note": {"Title": title}}
