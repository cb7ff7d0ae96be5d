"""Writes an object's status. It is not written if nothing has changed, and never to another object of the same name."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cache
from typing import Any, Protocol, TypeVar

import msgspec

from kinformer.client import Client
from kinformer.client.errors import ApiError
from kinformer.manager import SyncError
from kinformer.meta import accessor_of
from kinformer.operator.custom_resource import CustomResource
from kinformer.operator.identity import resource_of

__all__ = ("ObjectReplaced", "StatusWriter", "update_status_if_changed", "write_status")

T = TypeVar("T")
S = TypeVar("S")


class ObjectReplaced(SyncError):
    """The object is gone, and another object has its name."""


class StatusWriter(Protocol[T]):
    """The methods of :class:`kinformer.client.Resource` that are needed here."""

    async def get(self, name: str, namespace: str = "") -> T:
        """See :meth:`kinformer.client.Resource.get`."""

    async def update_status(self, obj: T) -> T:
        """See :meth:`kinformer.client.Resource.update_status`."""


async def update_status_if_changed(client: Client, obj: T, status: Any) -> T:
    """
    Write a status if it differs from the object's status, and return the new object.

    If the status is the same, there is no request, so a sync can call this each time. If another client has written in
    between, the object is read from the server and the write is tried once more. The status is never written to another
    object of the same name.

    :param obj: a model or a custom resource from the cache; it is not changed
    :param status: the new status
    :raises Conflict: if other clients wrote in between twice. Let this exception leave the sync: the key is then synced
        again
    :raises ObjectReplaced: if another object has the name now
    :raises NotFound: if the object is gone
    :raises TypeError: if the type of the object is a custom resource without a status
    """
    kind: Any = type(obj)
    _check_has_status(kind)
    return await write_status(await resource_of(client, obj), obj, status)


@cache
def _check_has_status(type_: type[Any]) -> None:
    if not issubclass(type_, CustomResource):
        return
    types = {field.name: field.type for field in msgspec.structs.fields(type_)}
    if types["status"] in (None, type(None)):
        raise TypeError(f"{type_.__qualname__} has no status: want CustomResource[Spec, Status] with a class for it")


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
    Write a status if it differs from the object's status, and return the new object.

    If the server refuses the write, the object is read again and the write is repeated.

    :param resource: for the requests
    :param obj: the object; it is not changed
    :param status: the new status
    :param same: whether the object's status (None if it has none) and the new one count as equal; None: ``==``
    :param rebase: computes the new status for the object that was read again; None: the status stays the same
    :param retries: how often the write is repeated at most
    :raises ObjectReplaced: if another object has the name now
    :raises ClientError: if the last write is refused, or the object cannot be read again (NotFound: it is gone)
    """
    current = obj.status  # type: ignore[attr-defined]  # callers pass kinds that have a status
    if same(current, status) if same is not None else current == status:
        return obj
    uid = accessor_of(obj).uid(obj)
    for retries_left in range(retries, -1, -1):
        written = copy.copy(obj)
        written.status = status  # type: ignore[attr-defined]  # callers pass kinds that have a status
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
        raise ObjectReplaced(f"{accessor.key(obj)} was deleted and created again: got uid {found}, want {uid}")
    return fresh
