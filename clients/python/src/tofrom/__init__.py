"""Client of tofrom, an activity feed server. `Client` is synchronous; `AsyncClient` runs on asyncio and trio."""

from . import webhooks
from ._async.client import AsyncClient
from ._async.collection import AsyncCollection
from ._generated.models import (
    Account,
    AccountChanges,
    Activity,
    BatchItem,
    Caller,
    EdgeFilter,
    Key,
    KeyWithSecret,
    NewActivity,
    NewObject,
    Object,
    PreviewedActivity,
    SourceService,
    SourceState,
    SourceUser,
)
from ._sync.client import Client
from ._sync.collection import Collection
from ._version import __version__
from .activity import object_of
from .connection import Credential
from .events import Arrived, Deleted, Event, Incomplete, Seen
from .hooks import Hook, HookSecret, Ping, Unread
from .problems import (
    Forbidden,
    Invalid,
    NotFound,
    PositionExpired,
    Problem,
    QuotaExceeded,
    TooManyRequests,
    Unauthorized,
    Unavailable,
)
from .query import CollectionName, Page, Written

__all__ = [
    "Account",
    "AccountChanges",
    "Activity",
    "Arrived",
    "AsyncClient",
    "AsyncCollection",
    "BatchItem",
    "Caller",
    "EdgeFilter",
    "Client",
    "Collection",
    "CollectionName",
    "Credential",
    "Deleted",
    "Event",
    "Forbidden",
    "Hook",
    "HookSecret",
    "Incomplete",
    "Invalid",
    "Key",
    "KeyWithSecret",
    "NewActivity",
    "NewObject",
    "NotFound",
    "Object",
    "Page",
    "Ping",
    "PositionExpired",
    "PreviewedActivity",
    "Problem",
    "QuotaExceeded",
    "Seen",
    "SourceService",
    "SourceState",
    "SourceUser",
    "TooManyRequests",
    "Unauthorized",
    "Unavailable",
    "Unread",
    "Written",
    "object_of",
    "webhooks",
    "__version__",
]
