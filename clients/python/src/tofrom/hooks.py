"""Types of hooks and of the seen position."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from typing_extensions import NotRequired, TypedDict

from .query import Operation

__all__ = ["Hook", "HookSecret", "Ping", "Unread"]

READ_HOOKS: Final = Operation("GET", "/200909/user/{user}/hooks")
READ_HOOK: Final = Operation("GET", "/200909/user/{user}/hooks/{name}")
PUT_HOOK: Final = Operation("PUT", "/200909/user/{user}/hooks/{name}")
DELETE_HOOK: Final = Operation("DELETE", "/200909/user/{user}/hooks/{name}")
TEST_HOOK: Final = Operation("POST", "/200909/user/{user}/hooks/{name}/test")
RESUME_HOOK: Final = Operation("POST", "/200909/user/{user}/hooks/{name}/resume")
ROTATE_HOOK: Final = Operation("POST", "/200909/user/{user}/hooks/{name}/rotate")


class Hook(TypedDict):
    """A hook and its state. Every value is a string."""

    Name: str
    Url: str
    Collection: Literal["to", "from", "tofrom"]
    Service: NotRequired[list[str]]
    Type: NotRequired[list[str]]
    Verb: NotRequired[list[str]]
    CreatedDate: str
    LastStatus: NotRequired[str]
    """The HTTP status of the last delivery."""
    LastDate: NotRequired[str]
    NextDate: NotRequired[str]
    """When the next try is due, after a failure."""
    Lag: str
    """How many seconds the oldest event waits."""
    Disabled: Literal["true", "false"]
    Reason: NotRequired[str]
    """Why it is disabled, or why the last delivery failed."""
    Secret: NotRequired[str]
    """The signing secret, `whsec_…`: only in the answer that created the hook."""


class HookSecret(TypedDict):
    """A new secret of a hook."""

    Name: str
    Secret: str


class Ping(TypedDict):
    """What the receiver of a hook answered to a test."""

    Delivered: Literal["true", "false"]
    Status: NotRequired[str]
    Reason: NotRequired[str]


@dataclass(frozen=True)
class Unread:
    """How many activities arrived after the seen position."""

    count: int
    at_least: bool
    """Whether there may be more: the server counts up to 1,000, and as far back as it remembers."""
    position: str
    """The seen position: `updates` from here gives these activities."""
