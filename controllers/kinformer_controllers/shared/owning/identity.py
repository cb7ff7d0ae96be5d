"""OwnerId: which object owns something, so that another one made under its name is not taken for it."""

from __future__ import annotations

from typing import Any, NamedTuple

from kinformer.meta import accessor_of

__all__ = ("OwnerId", "owner_id")


class OwnerId(NamedTuple):
    """
    :param key: ``namespace/name``, or the name alone; what a work queue carries
    :param uid: which of the objects that have ever had that name
    """

    key: str
    uid: str


def owner_id(obj: Any) -> OwnerId:
    """Of a model, a Struct or a dict."""
    accessor = accessor_of(obj)
    return OwnerId(accessor.key(obj), accessor.uid(obj))
