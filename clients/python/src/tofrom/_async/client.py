"""The client: one HTTP connection pool, one credential."""

from __future__ import annotations

import json as jsonlib
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from datetime import datetime
from types import TracebackType
from typing import Any, Literal, cast

import anyio
import httpx
from typing_extensions import Self

from .. import hooks
from .._generated import operations
from .._generated.models import (
    Account,
    AccountChanges,
    Activity,
    BatchItem,
    Caller,
    EdgeFilter,
    Key,
    KeyWithSecret,
    NewActivity,
    PreviewedActivity,
    SourceState,
    SourceUser,
)
from ..connection import Credential, authorization, base_address, default_headers, tls
from ..hooks import Hook, HookSecret, Ping
from ..problems import Problem
from ..query import CollectionName, Operation, Pairs, Words, Written, batches, link_cursor, pairs
from ..retry import pause
from .collection import AsyncCollection


class AsyncClient:
    """A client of a tofrom server. Use it as a context manager, or close it.

    `credential` is a key (`tfk_…`), a name and a password, or any `httpx.Auth`, such as `tofrom.oauth.OAuth1`.
    `consumer_key` names the application beside a key or a password. `verify` is a file of certificate authorities, an
    SSL context, or `True` for the usual ones. `timeout` is in seconds and limits connecting, sending, and each wait
    for data.

    A request that failed is repeated up to `retries` times, but only if that is safe: see `tofrom.retry`. The pause
    grows, or is the one that the server names in `Retry-After`. Errors are `tofrom.Problem` if the server answered, and
    `httpx.TransportError` if it did not.
    """

    def __init__(
        self,
        base_url: str,
        credential: Credential,
        *,
        consumer_key: str | None = None,
        verify: ssl.SSLContext | str | bool = True,
        timeout: float = 30,
        retries: int = 3,
        user_agent: str | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.retries = retries
        self._timeout = timeout
        self._http = httpx.AsyncClient(
            base_url=base_address(base_url),
            auth=authorization(credential),
            headers=default_headers(consumer_key, user_agent),
            verify=tls(verify),
            timeout=timeout,
            transport=transport,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes the connections."""
        await self._http.aclose()

    # Collections and activities.

    def collection(
        self,
        user: str,
        name: CollectionName = "tofrom",
        *,
        service: Words | None = None,
        type: Words | None = None,
        verb: Words | None = None,
        received_since: datetime | str | None = None,
        received_before: datetime | str | None = None,
        published_since: datetime | str | None = None,
        published_before: datetime | str | None = None,
        order_by: Literal["receivedDate", "pubDate"] | None = None,
    ) -> AsyncCollection:
        """A collection of an account, with filters. Sends nothing."""
        filters = pairs(
            {
                "service": service,
                "type": type,
                "verb": verb,
                "receivedsince": received_since,
                "receivedbefore": received_before,
                "publishedsince": published_since,
                "publishedbefore": published_before,
                "orderby": order_by,
            }
        )
        return AsyncCollection(self, user, name, filters)

    async def activity(self, identifier: str) -> Activity:
        """An activity by its `ActivityIdentifier`."""
        return cast(Activity, await self._json(operations.READ_ACTIVITY_BY_URL, {"activity": identifier}))

    async def authored_activity(self, user: str, service: str, source_id: str) -> Activity:
        """An activity by its service and the id that the service gave it."""
        path = {"user": user, "service": service, "source": source_id}
        return cast(Activity, await self._json(operations.READ_ACTIVITY, path))

    async def put_activity(
        self, user: str, service: str, source_id: str, activity: NewActivity | Mapping[str, Any]
    ) -> Written:
        """The user did this on that service: creates the activity, or a new version of it. Safe to repeat."""
        path = {"user": user, "service": service, "source": source_id}
        response = await self._send(operations.PUT_ACTIVITY, path, json=activity)
        return Written(response.headers["Location"], response.status_code == 201)

    async def post_activities(
        self, user: str, activities: Iterable[BatchItem | Mapping[str, Any]]
    ) -> list[Written | Problem]:
        """Writes many activities, in as many requests as it takes. Safe to repeat.

        Each needs `SourceId` and `SourceService.Name`. The list has the result of each, in their order; an invalid one
        does not affect the others.
        """
        results: list[Written | Problem] = []
        for body in batches(activities):
            response = await self._send(operations.POST_ACTIVITIES, {"user": user}, content=body, repeatable=True)
            for line in map(jsonlib.loads, response.content.splitlines()):
                accepted = "ActivityUrl" in line
                results.append(
                    Written(line["ActivityUrl"], line["status"] == 201) if accepted else Problem.from_members(line)
                )
        return results

    async def delete_activity(self, user: str, service: str, source_id: str) -> None:
        """Deletes an activity of the account everywhere."""
        path = {"user": user, "service": service, "source": source_id}
        await self._send(operations.DELETE_ACTIVITY, path)

    async def remove_received(self, user: str, identifier: str) -> None:
        """Removes an activity of another account from the account's `to`."""
        await self._send(operations.REMOVE_RECEIVED, {"user": user, "activity": identifier})

    # Accounts and following.

    async def whoami(self) -> Caller:
        """The account and the scopes of the credential."""
        return cast(Caller, (await self._json(operations.WHO_AM_I))["WhoAmI"])

    async def revoke_token(self) -> None:
        """Revokes the OAuth token that signs the request."""
        await self._send(operations.END_TOKEN)

    async def user(self, user: str) -> Account:
        """An account's profile."""
        return cast(Account, (await self._json(operations.READ_USER, {"user": user}))["User"])

    async def put_user(self, user: str, changes: AccountChanges) -> None:
        """Changes an account; an operator also creates one."""
        await self._send(operations.PUT_USER, {"user": user}, json=changes)

    async def delete_user(self, user: str) -> None:
        """Removes an account for good."""
        await self._send(operations.DELETE_USER, {"user": user})

    def following(self, user: str) -> AsyncGenerator[SourceUser, None]:
        """The accounts that the account follows."""
        return self._users(operations.READ_FOLLOWING, user)

    def followers(self, user: str) -> AsyncGenerator[SourceUser, None]:
        """The account's followers."""
        return self._users(operations.READ_FOLLOWERS, user)

    async def add_following(self, user: str, other: str, only: EdgeFilter | None = None) -> None:
        """The account follows another one; with `only`, some of its activities. Safe to repeat."""
        await self._send(operations.FOLLOW, {"user": user, "other": other}, json=only)

    async def remove_following(self, user: str, other: str) -> None:
        """The account no longer follows the other one. Safe to repeat."""
        await self._send(operations.UNFOLLOW, {"user": user, "other": other}, repeatable=True)

    async def remove_follower(self, user: str, other: str) -> None:
        """The other account no longer follows the account. Safe to repeat."""
        await self._send(operations.REMOVE_FOLLOWER, {"user": user, "other": other}, repeatable=True)

    def blocked(self, user: str) -> AsyncGenerator[SourceUser, None]:
        """The accounts that the account blocks."""
        return self._users(operations.READ_BLOCKED, user)

    async def block(self, user: str, other: str) -> None:
        """The other account can neither follow nor address the account. Safe to repeat."""
        await self._send(operations.BLOCK, {"user": user, "other": other})

    async def unblock(self, user: str, other: str) -> None:
        """The account no longer blocks the other one. Safe to repeat."""
        await self._send(operations.UNBLOCK, {"user": user, "other": other}, repeatable=True)

    def muted(self, user: str) -> AsyncGenerator[SourceUser, None]:
        """The accounts that the account mutes."""
        return self._users(operations.READ_MUTED, user)

    async def mute(self, user: str, other: str) -> None:
        """The account does not see the activities of the other one. Safe to repeat."""
        await self._send(operations.MUTE, {"user": user, "other": other})

    async def unmute(self, user: str, other: str) -> None:
        """The account sees the activities of the other one again. Safe to repeat."""
        await self._send(operations.UNMUTE, {"user": user, "other": other}, repeatable=True)

    # Keys.

    async def keys(self, user: str) -> list[Key]:
        """The account's keys that work, without their secrets."""
        return cast(list[Key], (await self._json(operations.READ_KEYS, {"user": user}))["Keys"]["Key"])

    async def create_key(
        self,
        user: str,
        *,
        name: str | None = None,
        scope: Literal["read", "write"] = "read",
        expires_in: int | None = None,
        expires: datetime | None = None,
    ) -> KeyWithSecret:
        """Creates a key, for `expires_in` seconds or until `expires`. Only this answer contains the key itself."""
        body = dict(pairs({"Name": name, "Scope": scope, "ExpiresIn": expires_in, "Expires": expires}))
        return cast(KeyWithSecret, (await self._json(operations.CREATE_KEY, {"user": user}, json=body))["Key"])

    async def revoke_key(self, user: str, identifier: str) -> None:
        """Revokes a key and the keys that it created."""
        await self._send(operations.REVOKE_KEY, {"user": user, "id": identifier})

    # Sources.

    async def sources(self, user: str) -> list[SourceState]:
        """The account's sources with their state."""
        found = await self._json(operations.READ_SOURCES, {"user": user})
        return cast(list[SourceState], found["Sources"]["Source"])

    async def source(self, user: str, name: str) -> SourceState:
        """One source with its state."""
        found = await self._json(operations.READ_SOURCE, {"user": user, "name": name})
        return cast(SourceState, found["Source"])

    async def preview_source(self, user: str, address: str) -> list[PreviewedActivity]:
        """The activities that a source would bring. Nothing is stored."""
        found = await self._json(operations.PREVIEW_SOURCE, {"user": user}, json={"Address": address})
        return cast(list[PreviewedActivity], found["Preview"]["Activity"])

    async def put_source(self, user: str, name: str, *, address: str | None = None, paused: bool | None = None) -> None:
        """Connects a source, or pauses or resumes it."""
        body = dict(pairs({"Address": address, "Paused": paused}))
        await self._send(operations.PUT_SOURCE, {"user": user, "name": name}, json=body)

    async def delete_source(self, user: str, name: str, *, activities: bool = False) -> None:
        """Disconnects a source; `activities` also deletes what it brought."""
        parameters = pairs({"activities": activities})
        await self._send(operations.DELETE_SOURCE, {"user": user, "name": name}, params=parameters)

    # Hooks.

    async def hooks(self, user: str) -> list[Hook]:
        """The account's hooks with their state."""
        return cast(list[Hook], (await self._json(hooks.READ_HOOKS, {"user": user}))["Hooks"]["Hook"])

    async def hook(self, user: str, name: str) -> Hook:
        """One hook with its state."""
        return cast(Hook, (await self._json(hooks.READ_HOOK, {"user": user, "name": name}))["Hook"])

    async def put_hook(
        self,
        user: str,
        name: str,
        url: str,
        collection: CollectionName = "tofrom",
        *,
        service: Words | None = None,
        type: Words | None = None,
        verb: Words | None = None,
    ) -> Hook:
        """Creates a hook, or changes its address and filters. Only the answer that creates it has `Secret`.

        It is not repeated after a broken connection, because the first answer may be lost with its secret: see
        `rotate_hook`.
        """
        lists = {"Service": service, "Type": type, "Verb": verb}
        body: dict[str, Any] = {"Url": url, "Collection": collection}
        body |= {field: [value] if isinstance(value, str) else list(value) for field, value in lists.items() if value}
        path = {"user": user, "name": name}
        return cast(Hook, (await self._json(hooks.PUT_HOOK, path, json=body, repeatable=False))["Hook"])

    async def delete_hook(self, user: str, name: str) -> None:
        """Removes a hook."""
        await self._send(hooks.DELETE_HOOK, {"user": user, "name": name})

    async def test_hook(self, user: str, name: str) -> Ping:
        """Sends a signed `ping` to the hook's address. The position of the hook stays."""
        return cast(Ping, (await self._json(hooks.TEST_HOOK, {"user": user, "name": name}))["Ping"])

    async def resume_hook(self, user: str, name: str) -> None:
        """Enables a disabled hook where it stopped, and tries a waiting one at once."""
        await self._send(hooks.RESUME_HOOK, {"user": user, "name": name})

    async def rotate_hook(self, user: str, name: str) -> HookSecret:
        """Replaces the secret; the answer has the new one. Both sign for 24 hours: verify with both meanwhile."""
        return cast(HookSecret, (await self._json(hooks.ROTATE_HOOK, {"user": user, "name": name}))["Hook"])

    # Requests.

    async def _users(self, operation: Operation, user: str) -> AsyncGenerator[SourceUser, None]:
        parameters = pairs({"count": 200})
        while True:
            response = await self._send(operation, {"user": user}, params=parameters)
            for found in cast(list[SourceUser], response.json()["Users"]["User"]):
                yield found
            cursor = link_cursor(response, "next")
            if not cursor:
                return
            parameters = pairs({"count": 200, "cursor": cursor})

    async def _json(self, operation: Operation, path: Mapping[str, str] = {}, **more: Any) -> Any:
        return (await self._send(operation, path, **more)).json()

    async def _send(
        self,
        operation: Operation,
        path: Mapping[str, str] = {},
        *,
        params: Pairs | None = None,
        json: object = None,
        content: bytes | None = None,
        repeatable: bool | None = None,
    ) -> httpx.Response:
        """Sends a request until it succeeds, or a repeat is not safe or does not help."""
        if repeatable is None:
            repeatable = operation.method in ("GET", "PUT")
        headers = {"Content-Type": "application/x-ndjson"} if content is not None else {}
        attempt = 0
        while True:
            error: Problem | httpx.TransportError
            try:
                response = await self._http.request(
                    operation.method, operation.target(path), params=params, json=json, content=content, headers=headers
                )
                if response.is_success:
                    return response
                error = Problem.from_response(response)
            except httpx.TransportError as broken:
                error = broken
            delay = pause(error, attempt=attempt, repeatable=repeatable)
            if delay is None or attempt >= self.retries:
                raise error
            attempt += 1
            await anyio.sleep(delay)

    @asynccontextmanager
    async def _stream(
        self, target: str, *, params: Pairs, headers: dict[str, str], silence: float
    ) -> AsyncIterator[httpx.Response]:
        """A response whose body is read while it arrives."""
        timeout = httpx.Timeout(self._timeout, read=silence)
        async with self._http.stream("GET", target, params=params, headers=headers, timeout=timeout) as response:
            if not response.is_success:
                await response.aread()
                raise Problem.from_response(response)
            yield response
