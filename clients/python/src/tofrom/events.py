"""Events of a live stream, and the decoder of `text/event-stream`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from ._generated.models import Activity

__all__ = ["Arrived", "Deleted", "Event", "Incomplete", "Seen"]


@dataclass(frozen=True)
class Arrived:
    """An activity arrived in the collection, or has a new version."""

    activity: Activity
    position: str
    """Covers everything up to this event. Save it after the event is processed."""


@dataclass(frozen=True)
class Deleted:
    """An activity was deleted, or its reader may no longer see it."""

    identifier: str
    """Its `ActivityIdentifier`."""
    position: str


@dataclass(frozen=True)
class Incomplete:
    """Too much changed for single events, or the position was too old: read the collection again."""

    url: str
    """The first page of the collection."""
    position: str


@dataclass(frozen=True)
class Seen:
    """The account's seen position moved, perhaps on another device."""

    cursor: str
    """The seen position."""
    position: str
    """The position of the stream, which this event does not move."""


Event: TypeAlias = Arrived | Deleted | Incomplete | Seen


@dataclass
class Message:
    """A message of `text/event-stream`, before its meaning is known."""

    event: str = "message"
    data: list[str] = field(default_factory=list)
    id: str | None = None

    def meaning(self, position: str) -> Event | None:
        """The event; `None` for one that this version does not know."""
        if self.event not in ("activity", "deleted", "incomplete", "seen"):
            return None
        data = json.loads("\n".join(self.data))
        position = self.id or position
        if self.event == "activity":
            return Arrived(data, position)
        if self.event == "deleted":
            return Deleted(data["ActivityIdentifier"], position)
        if self.event == "incomplete":
            return Incomplete(data["Url"], position)
        return Seen(data["Cursor"], position)


# Only these end a line. str.splitlines and httpx's iter_lines also break at characters that a title may contain.
_LINE_END = re.compile(rb"\r\n|\n|\r(?!\Z)")


@dataclass
class Decoder:
    """Decodes the bytes of a stream, in pieces of any size."""

    retry: float | None = None
    """The pause before the next connection in seconds, if the server has set one."""
    _rest: bytes = b""
    _message: Message = field(default_factory=Message)

    def feed(self, piece: bytes) -> Iterator[Message]:
        """The messages that end in this piece."""
        *lines, self._rest = _LINE_END.split(self._rest + piece)
        for line in lines:
            if line:
                self._take(line.decode("utf-8", "replace"))
                continue
            message, self._message = self._message, Message()
            if message.data:
                yield message

    def _take(self, line: str) -> None:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            self._message.event = value
        elif name == "data":
            self._message.data.append(value)
        elif name == "id" and "\0" not in value:
            self._message.id = value
        elif name == "retry" and value.isdecimal() and value.isascii():
            self.retry = int(value) / 1000
