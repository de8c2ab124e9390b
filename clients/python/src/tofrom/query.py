"""Values that a query, a path or a batch consists of."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, NamedTuple, TypeAlias
from urllib.parse import parse_qs, quote, urlsplit

import httpx

from ._generated.models import Activity

__all__ = ["CollectionName", "Page", "Words", "Written"]

CollectionName: TypeAlias = Literal["to", "from", "tofrom"]
Words: TypeAlias = str | Sequence[str]
"""One value of a filter, or several of which any may match."""
Pairs: TypeAlias = list[tuple[str, str | int | float | bool | None]]
"""Parameters of a query. All values are strings; this is the type that httpx takes."""

# Limits of the server for a batch.
_BATCH_ITEMS = 1_000
_BATCH_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True)
class Page:
    """A page of a collection."""

    activities: list[Activity]
    position: str
    """Everything that arrives in the collection later is after this position: see `follow` and `updates`."""
    next: str | None
    """The cursor of the next page; `None` on the last one."""


@dataclass(frozen=True)
class Written:
    """An activity that was accepted."""

    url: str
    """Its `ActivityUrl`."""
    created: bool
    """Whether it is new; otherwise it existed, perhaps unchanged."""

    @property
    def identifier(self) -> str:
        """Its `ActivityIdentifier`."""
        return self.url.rpartition("/")[2]


class Operation(NamedTuple):
    """A method and the template of a path."""

    method: str
    path: str

    def target(self, values: Mapping[str, str]) -> str:
        """The path with these values, percent-encoded and relative to the base address."""
        return self.path.removeprefix("/").format_map({name: quote(value, safe="") for name, value in values.items()})


def pairs(parameters: Mapping[str, Words | datetime | int | bool | None]) -> Pairs:
    """Parameters as the query has them: several values repeat the name, `None` is left out."""
    found: Pairs = []
    for name, value in parameters.items():
        if value is None:
            continue
        if isinstance(value, datetime):
            if value.tzinfo is None:
                raise ValueError(f"{name}: expected a time with a zone, such as datetime.now(timezone.utc)")
            found.append((name, value.isoformat()))
        elif isinstance(value, bool):
            found.append((name, str(value).lower()))
        elif isinstance(value, (str, int)):
            found.append((name, str(value)))
        else:
            found += [(name, word) for word in value]
    return found


def link_cursor(response: httpx.Response, relation: str) -> str | None:
    """The cursor in a link of a response.

    Only the cursor is taken: requests go to the address that the client was made with, which may differ from the public
    one in links, and a credential never goes anywhere else.
    """
    link = response.links.get(relation)
    return url_cursor(link["url"]) if link else None


def url_cursor(url: str) -> str:
    """The cursor in a link."""
    return parse_qs(urlsplit(url).query)["cursor"][0]


def to_page(response: httpx.Response) -> Page:
    """The page in a response."""
    position = link_cursor(response, "updates")
    if position is None:
        raise ValueError("the response has no updates link: a proxy may have removed its Link header")
    return Page(response.json()["Activities"]["Activity"], position, link_cursor(response, "next"))


def batches(items: Iterable[Mapping[str, Any]]) -> Iterator[bytes]:
    """Activities as bodies of `application/x-ndjson` that the server accepts."""
    lines: list[bytes] = []
    size = 0
    for item in items:
        line = json.dumps(item, ensure_ascii=False).encode() + b"\n"
        if lines and (len(lines) == _BATCH_ITEMS or size + len(line) > _BATCH_BYTES):
            yield b"".join(lines)
            lines, size = [], 0
        lines.append(line)
        size += len(line)
    if lines:
        yield b"".join(lines)
