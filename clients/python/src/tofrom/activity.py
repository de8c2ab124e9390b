"""Reading an activity."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from ._generated.models import Activity, Object

__all__ = ["object_of"]


def object_of(activity: Activity) -> tuple[str, Object]:
    """The type and the object of an activity, whose field is named after its type: `("Bookmark", {"Title": …})`.

    Types are an open vocabulary, so an activity may have one that `Activity` does not name.
    """
    fields = cast(Mapping[str, object], activity)
    for name, value in fields.items():
        if isinstance(value, dict) and name not in ("SourceUser", "SourceService"):
            return name, cast(Object, value)
    raise ValueError("the activity has no object")
