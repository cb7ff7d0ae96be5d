"""Finalizers: cleaning up outside the cluster before an object may go.

An object that has a finalizer stays, with a deletion timestamp, until the finalizer is taken off. The whole dance is
:meth:`Finalizer.ensure`, at the beginning of a sync::

    dns = Finalizer("example.com/dns", client)

    async def sync(key: str) -> None:
        app = apps.indexer.get_by_key(key)
        if app is not None and (app := await dns.ensure(app, cleanup=remove_record)) is not None:
            ...  # the object is alive, and has the finalizer

Each patch names the uid and the resource version that it was made for. The server refuses it with a conflict for
another object of the name, and where somebody else has changed the object meanwhile.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from kinformer.client import Client, NotFound, PatchType
from kinformer.meta import accessor_of
from kinformer.operator.identity import resource_of
from kinformer.record import WARNING, EventRecorder

__all__ = ("Finalizer", "add_finalizer", "has_finalizer", "remove_finalizer")

T = TypeVar("T")


def has_finalizer(obj: Any, finalizer: str) -> bool:
    """Whether an object has a finalizer of that name."""
    return finalizer in accessor_of(obj).finalizers(obj)


async def add_finalizer(client: Client, obj: T, finalizer: str) -> T:
    """
    Put a finalizer on an object, and return the object as it is then; the one that was given if it is there already.

    :raises Conflict: if the object has changed since it was read, or another one has its name
    :raises NotFound: if the object is gone
    :raises ValueError: if the name is not qualified (``example.com/dns``), which the API wants
    """
    if "/" not in finalizer:
        raise ValueError(f"the finalizer {finalizer!r} has no domain: want a name such as 'example.com/{finalizer}'")
    found = accessor_of(obj).finalizers(obj)
    return obj if finalizer in found else await _write(client, obj, [*found, finalizer])


async def remove_finalizer(client: Client, obj: T, finalizer: str) -> T | None:
    """
    Take a finalizer off an object, and return the object as it is then; None if it is gone.

    :raises Conflict: if the object has changed since it was read, or another one has its name
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
    resource = await resource_of(client, obj)
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
    A finalizer, and what has to be done before it is taken off.

    :param name: qualified by a domain: ``example.com/dns``
    :param events: is told of a clean-up that fails, as an Event ``CleanupFailed`` about the object
    """

    def __init__(self, name: str, client: Client, events: EventRecorder | None = None) -> None:
        self.name = name
        self._client = client
        self._events = events

    async def ensure(self, obj: T, cleanup: Callable[[T], Awaitable[None]]) -> T | None:
        """
        Have the finalizer on an object that lives; clean up and take it off one that is being deleted.

        :param obj: as the cache has it; it is not changed
        :param cleanup: awaited with the object. It may be called more than once for one object
        :return: the object, with the finalizer, as the server has it; None if it is being deleted: nothing else is to
            be done for it
        :raises Conflict: if the object has changed since it was read; the sync is then called again
        """
        if not accessor_of(obj).is_being_deleted(obj):
            return await add_finalizer(self._client, obj, self.name)
        if has_finalizer(obj, self.name):
            try:
                await cleanup(obj)
            except Exception as error:
                if self._events is not None:
                    self._events.event(obj, WARNING, "CleanupFailed", str(error) or type(error).__name__)
                raise
            await remove_finalizer(self._client, obj, self.name)
        return None
