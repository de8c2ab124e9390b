"""A collection with its filters: pages, updates, the live stream, and the seen position."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

import anyio
import httpx

from .._generated.models import Activity
from ..events import Decoder, Event
from ..hooks import Unread
from ..problems import Problem
from ..query import CollectionName, Operation, Page, Pairs, pairs, to_page, url_cursor
from ..retry import backoff, pause

if TYPE_CHECKING:
    from .client import AsyncClient

_log = logging.getLogger("tofrom")


class AsyncCollection:
    """The collection `to`, `from` or `tofrom` of an account, with filters.

    Made by `AsyncClient.collection`. A position belongs to the collection and its filters: use it with these only.
    """

    def __init__(self, client: AsyncClient, user: str, name: CollectionName, filters: Pairs) -> None:
        self._client = client
        self._path = {"user": user}
        self._name = name
        self._filters = filters

    def _operation(self, method: str, suffix: str = "") -> Operation:
        return Operation(method, f"/200909/activity/{{user}}/{self._name}{suffix}")

    async def page(self, *, count: int | None = None, start: int | None = None, cursor: str | None = None) -> Page:
        """One page, newest first: the first one, or the one after another page's `next`."""
        return await self._page(pairs({"count": count, "start": start, "cursor": cursor}))

    async def pages(self, *, count: int = 100) -> AsyncGenerator[Page, None]:
        """All pages, newest first. Arrivals meanwhile cause no gap and no repeat.

        The position of the last page covers all of them: `follow` and `updates` go on where it ends.
        """
        page = await self.page(count=count)
        yield page
        while page.next:
            page = await self.page(count=count, cursor=page.next)
            yield page

    async def activities(self, *, count: int = 100) -> AsyncGenerator[Activity, None]:
        """All activities, newest first, read in pages of `count`."""
        async for page in self.pages(count=count):
            for activity in page.activities:
                yield activity

    async def position(self) -> str:
        """The present position: everything that arrives from now on is after it."""
        return (await self.page(count=0)).position

    async def updates(self, position: str, *, count: int = 200) -> Page:
        """The activities that arrived after a position, oldest first, each in its newest version.

        Go on with the position of the page. `next` is not `None` while there is more. Deletions are reported by
        `follow` only. Raises `PositionExpired` if the position is too old.
        """
        return await self._page(pairs({"count": count, "cursor": position}))

    async def poll(
        self, position: str | None = None, *, interval: float = 10, count: int = 200
    ) -> AsyncGenerator[Page, None]:
        """Pages of updates without end, for networks that do not let a stream through.

        Yields a page whenever something has arrived, and waits for `interval` seconds when it has all. Save the page's
        position after the page is processed. Without a position it begins now. Raises `PositionExpired`.
        """
        position = position or await self.position()
        while True:
            page = await self.updates(position, count=count)
            if page.activities:
                yield page
            position = page.position
            if not page.next:
                await anyio.sleep(interval)

    async def follow(self, position: str | None = None, *, silence: float = 40) -> AsyncGenerator[Event, None]:
        """The events after a position, live and without end. Without a position it begins now.

        Each event has a position. Save it after the event is processed, and begin with it after a restart: nothing is
        missing, and no version comes twice. A broken connection is opened again and continues in the same way; one
        that is silent for `silence` seconds counts as broken, since the server sends a comment every 15 seconds. Only
        the first connection fails after the client's number of retries. A `Problem` that a repeat cannot cure, such as
        `Unauthorized`, is raised at any time.

        `Incomplete` says that events are missing, after an unfollow or because the position was too old: read the
        collection again.

        Use `contextlib.aclosing` to close the connection at once when you leave the loop.
        """
        position = position or await self.position()
        attempt, opened = 0, False
        while True:
            decoder = Decoder()
            delay: float | None = None
            try:
                async with self._client._stream(
                    self._operation("GET").target(self._path),
                    # A stream is always in the order of arrival.
                    params=[(name, value) for name, value in self._filters if name != "orderby"],
                    headers={
                        "Accept": "text/event-stream",
                        "Accept-Encoding": "identity",
                        "Last-Event-ID": position,
                    },
                    silence=silence,
                ) as response:
                    async for piece in response.aiter_raw():
                        attempt, opened = 0, True
                        for message in decoder.feed(piece):
                            event = message.meaning(position)
                            position = message.id or position
                            if event:
                                yield event
            except (Problem, httpx.TransportError) as error:
                delay = pause(error, attempt=attempt, repeatable=True)
                if delay is None or (not opened and attempt >= self._client.retries):
                    raise
                _log.info("stream interrupted: %r", error)
            if delay is None:
                delay = backoff(attempt) if decoder.retry is None else decoder.retry
            attempt += 1
            await anyio.sleep(delay)

    async def unread(self) -> Unread:
        """How many activities arrived after the account's seen position."""
        response = await self._client._send(self._operation("GET", "/unread"), self._path, params=self._filters)
        found = response.json()["Unread"]
        return Unread(int(found["Count"]), found["AtLeast"] == "true", url_cursor(found["Url"]))

    async def mark_seen(self, position: str | None = None) -> None:
        """Moves the account's seen position forward to this one, or to the present one."""
        body = {"Cursor": position} if position else None
        await self._client._send(self._operation("PUT", "/seen"), self._path, json=body)

    async def _page(self, parameters: Pairs) -> Page:
        return to_page(await self._client._send(self._operation("GET"), self._path, params=self._filters + parameters))
