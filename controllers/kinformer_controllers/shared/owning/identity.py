"""OwnerId: the key and the uid of an owner. The uid tells it apart from a later object with the same name."""

from __future__ import annotations

from typing import Any, NamedTuple

from kinformer.meta import accessor_of

__all__ = ("OwnerId", "owner_id")


class OwnerId(NamedTuple):
    """
    The identity of an owner.

    :param key: ``namespace/name``, or the name of a cluster-scoped object, as in the work queue
    :param uid: the object's uid
    """

    key: str
    uid: str


def owner_id(obj: Any) -> OwnerId:
    """Return the key and the uid of a model, a Struct or a dict."""
    accessor = accessor_of(obj)
    return OwnerId(accessor.key(obj), accessor.uid(obj))
