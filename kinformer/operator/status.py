"""Writing an object's status: not if it says nothing new, again if somebody was quicker, never onto another object."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from kinformer.client import Client
from kinformer.client.errors import ApiError
from kinformer.manager import SyncError
from kinformer.meta import accessor_of
from kinformer.operator.identity import resource_of

__all__ = ("ObjectReplaced", "StatusWriter", "update_status_if_changed", "write_status")

T = TypeVar("T")
S = TypeVar("S")


class ObjectReplaced(SyncError):
    """The object is gone, and another one has its name."""


class StatusWriter(Protocol[T]):
    """What is asked of a :class:`kinformer.client.Resource`."""

    async def get(self, name: str, namespace: str = "") -> T:
        """See :meth:`kinformer.client.Resource.get`."""

    async def update_status(self, obj: T) -> T:
        """See :meth:`kinformer.client.Resource.update_status`."""


async def update_status_if_changed(client: Client, obj: T, status: Any) -> T:
    """
    Write a status if it differs from the one that the object has, and return the object as it is then.

    A status that was not written costs no request, so a sync can call this each time. It is never written onto another
    object of the name. Where somebody else wrote in between, it is tried once more on what the server has.

    :param obj: a model or a custom resource, as the cache has it; it is not changed
    :raises Conflict: if somebody else was quicker twice; the sync is then called again
    :raises ObjectReplaced: if another object has the name by now
    :raises NotFound: if the object is gone
    """
    return await write_status(await resource_of(client, obj), obj, status)


async def write_status(
    resource: StatusWriter[T],
    obj: T,
    status: S,
    *,
    same: Callable[[Any, S], bool] | None = None,
    rebase: Callable[[T, S], S] | None = None,
    retries: int = 1,
) -> T:
    """
    Write a status if it differs from the object's, and return the object as it is then.

    A refused write is tried again on what the server has then. The object that is given stays as it is.

    :param same: whether the status that the object has (None if none) says what the new one does; equality if None
    :param rebase: gives the status to write onto a fresh copy of the object; the same one if None
    :param retries: how often to try again
    :raises ObjectReplaced: if another object has its name by now
    :raises ClientError: if it is refused still, or a fresh copy cannot be had (NotFound: the object is gone)
    """
    current = obj.status  # type: ignore[attr-defined]  # kinds without a status have nothing to write
    if same(current, status) if same is not None else current == status:
        return obj
    uid = accessor_of(obj).uid(obj)
    for retries_left in range(retries, -1, -1):
        written = copy.copy(obj)
        written.status = status  # type: ignore[attr-defined]
        try:
            return await resource.update_status(written)
        except ApiError:
            if not retries_left:
                raise
        obj = await _fresh(resource, obj, uid)
        if rebase is not None:
            status = rebase(obj, status)
    raise AssertionError("the last try returns or raises")


async def _fresh(resource: StatusWriter[T], obj: T, uid: str) -> T:
    accessor = accessor_of(obj)
    fresh = await resource.get(accessor.name(obj), accessor.namespace(obj))
    if (found := accessor.uid(fresh)) != uid:
        raise ObjectReplaced(f"{accessor.key(obj)} was made anew: got uid {found}, want {uid}")
    return fresh
