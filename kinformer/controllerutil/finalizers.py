"""Finalizers: an object that is deleted stays, with a deletion timestamp, until its last finalizer is removed.

:meth:`Finalizer.ensure` does all that a controller needs that cleans up outside the cluster. Call it at the beginning
of a sync::

    dns = Finalizer("example.com/dns", client)

    async def sync(key: str) -> None:
        app = apps.indexer.get_by_key(key)
        if app is not None and (app := await dns.ensure(app, cleanup=remove_record)) is not None:
            ...  # the object is alive, and has the finalizer

A cache can be old, above all after a start or a change of the leader. It may still have an object that the process
before has cleaned up. If this process then writes something outside the cluster for the object, nothing removes it. So
:meth:`Finalizer.ensure` reads each object from the server once, before this process writes for it for the first time.

Each patch has the UID and the resourceVersion of the object that it was made for. If the object has been replaced or
changed since, the server answers with a conflict.

The patches of :func:`add_finalizers_patch` and :func:`remove_finalizers_patch` are for kinds of Kubernetes. They work
with any version of this one object.
"""

from __future__ import annotations

import copy
from collections.abc import Awaitable, Callable, Iterable
from inspect import isawaitable
from typing import Any, TypeVar, cast

from kinformer.arguments import want, want_client
from kinformer.client import Client, NotFound, PatchType
from kinformer.logs import error_text
from kinformer.meta import ObjectName, accessor_of
from kinformer.record import WARNING, EventRecorder

__all__ = (
    "Finalizer",
    "add_finalizer",
    "add_finalizers_patch",
    "has_finalizer",
    "is_finalizer_due",
    "remove_finalizer",
    "remove_finalizers_patch",
    "with_finalizers",
    "without_finalizers",
)

T = TypeVar("T")


def is_finalizer_due(obj: Any, finalizer: str) -> bool:
    """Whether an object needs the finalizer and lacks it, or is being deleted and still has it."""
    return has_finalizer(obj, finalizer) == accessor_of(obj).is_being_deleted(obj)


def without_finalizers(finalizers: Iterable[str] | None, *removed: str) -> list[str]:
    """Return the other finalizers, in their order."""
    return [it for it in finalizers or () if it not in removed]


def with_finalizers(obj: T, finalizers: Iterable[str]) -> T:
    """
    Return a copy of a model with other finalizers, for an update. The update fails if the object has changed since.

    For controllers that may update their objects and not patch them, as Kubernetes' roles have it.
    """
    written: Any = copy.copy(obj)
    written.metadata = copy.copy(written.metadata)
    written.metadata.finalizers = list(finalizers) or None
    return cast("T", written)


def add_finalizers_patch(obj: Any, *finalizers: str) -> dict[str, Any]:
    """Return a strategic merge patch that adds finalizers. Its uid makes it fail for another object with this name."""
    return {"metadata": {"uid": accessor_of(obj).uid(obj), "finalizers": list(finalizers)}}


def remove_finalizers_patch(obj: Any, *finalizers: str) -> dict[str, Any]:
    """Return a strategic merge patch that removes finalizers. It works with any version of this object, by its uid."""
    return {"metadata": {"uid": accessor_of(obj).uid(obj), "$deleteFromPrimitiveList/finalizers": list(finalizers)}}


def has_finalizer(obj: Any, finalizer: str) -> bool:
    """Whether an object has a finalizer."""
    return finalizer in accessor_of(obj).finalizers(obj)


async def add_finalizer(client: Client, obj: T, finalizer: str) -> T:
    """
    Add a finalizer to an object, and return the new object. If the object has the finalizer, it is returned as it is.

    :raises Conflict: if the object has changed since it was read, or was replaced by another one
    :raises NotFound: if the object is gone
    :raises ValueError: if the name has no domain; the API wants one, as in ``example.com/dns``
    """
    if "/" not in finalizer:
        raise ValueError(f"the finalizer {finalizer!r} has no domain: want a name such as 'example.com/{finalizer}'")
    found = accessor_of(obj).finalizers(obj)
    return obj if finalizer in found else await _write(client, obj, [*found, finalizer])


async def remove_finalizer(client: Client, obj: T, finalizer: str) -> T | None:
    """
    Remove a finalizer from an object, and return the new object; None if the object is gone.

    :raises Conflict: if the object has changed since it was read, or was replaced by another one
    """
    found = accessor_of(obj).finalizers(obj)
    if finalizer not in found:
        return obj
    try:
        return await _write(client, obj, [name for name in found if name != finalizer])
    except NotFound:
        return None


async def _write(client: Client, obj: T, finalizers: list[str]) -> T:
    accessor = accessor_of(obj)
    resource = await client.resource_for_object(obj)
    metadata = {
        "uid": accessor.uid(obj),
        "resourceVersion": accessor.resource_version(obj),
        "finalizers": finalizers,
    }
    name, namespace = accessor.name(obj), accessor.namespace(obj)
    patched: T = await resource.patch(name, {"metadata": metadata}, namespace, patch_type=PatchType.MERGE)
    return patched


class Finalizer:
    """
    A finalizer of an operator. Make one for each name and keep it, because it remembers which objects it has read.

    :param name: the name, with a domain: ``example.com/dns``
    :param client: for the requests
    :param events: if a clean-up fails, it records an Event ``CleanupFailed`` for the object; None: there is no Event
    """

    def __init__(self, name: str, client: Client, events: EventRecorder | None = None) -> None:
        want_client(client, f"the client of the finalizer {name}")
        self.name = name
        self._client = client
        self._events = events
        #: The uids of the objects that this process has seen on the server with the finalizer, and has not cleaned up.
        #: Only this process removes the finalizer, so these objects still exist, even if the cache is older.
        self._held: dict[ObjectName, str] = {}

    async def ensure(self, obj: T, cleanup: Callable[[T], Awaitable[None]]) -> T | None:
        """
        Add the finalizer to the object. If the object is being deleted, clean up and remove the finalizer instead.

        The first call for an object reads it from the server (one GET). If the call adds the finalizer, it does not
        read: the patch fails if the object is gone. Later calls read nothing.

        :param obj: an object from the cache; it is not changed
        :param cleanup: is awaited with the object. It may be called more than once for the same object
        :return: the object with the finalizer; None if the object is gone or being deleted, and the sync has nothing
            more to do
        :raises Conflict: if the object has changed since it was read. Let this exception leave the sync: the key is
            then synced again
        """
        want(
            cleanup, callable(cleanup), f"the clean-up of {self.name}", "the function itself, as in cleanup=self.remove"
        )
        accessor = accessor_of(obj)
        key, uid = accessor.object_name(obj), accessor.uid(obj)
        if has_finalizer(obj, self.name) and self._held.get(key) != uid:
            fresh = await self._read(obj)
            if fresh is None:
                return None
            obj = fresh
        if not accessor.is_being_deleted(obj):
            try:
                obj = await add_finalizer(self._client, obj, self.name)
            except NotFound:
                return None
            self._held[key] = uid
            return obj
        if has_finalizer(obj, self.name):
            try:
                done = cleanup(obj)
                want(done, isawaitable(done), f"the result of the clean-up of {self.name}", "an async function")
                await done
            except Exception as error:
                if self._events is not None:
                    self._events.event(obj, WARNING, "CleanupFailed", error_text(error))
                raise
        self._held.pop(key, None)
        await remove_finalizer(self._client, obj, self.name)
        return None

    async def _read(self, obj: T) -> T | None:
        """The server's version of an object; None if the object is gone, or another one has its name."""
        accessor = accessor_of(obj)
        resource = await self._client.resource_for_object(obj)
        try:
            fresh: T = await resource.get(accessor.name(obj), accessor.namespace(obj))
        except NotFound:
            return None
        return fresh if accessor.uid(fresh) == accessor.uid(obj) else None
