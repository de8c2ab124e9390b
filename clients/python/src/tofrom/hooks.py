"""Types of hooks and of the seen position."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from typing_extensions import NotRequired, TypedDict

__all__ = ["Hook", "Unread"]


class Hook(TypedDict):
    """A hook and its state. Every value is a string."""

    Name: str
    Url: str
    Collection: Literal["to", "from", "tofrom"]
    Service: NotRequired[list[str]]
    Type: NotRequired[list[str]]
    Verb: NotRequired[list[str]]
    Secret: NotRequired[str]
    """The signing secret, `whsec_…`: only in the answer that created or rotated it."""
    LastStatus: NotRequired[str]
    """The HTTP status of the last delivery."""
    LastDate: NotRequired[str]
    Lag: NotRequired[str]
    """Seconds."""
    Disabled: NotRequired[str]
    Reason: NotRequired[str]


@dataclass(frozen=True)
class Unread:
    """How many activities arrived after the seen position."""

    count: int
    at_least: bool
    """Whether there may be more: the server counts up to 1,000, and as far back as it remembers."""
    position: str
    """The seen position: `updates` from here gives these activities."""
