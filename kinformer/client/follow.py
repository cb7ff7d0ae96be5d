"""Following: gives the objects of a list, and then every change, until the caller stops.

It is for one reader, such as a script, a test or a small tool. Controllers use an informer, whose cache they share. The
reader gets one :class:`Change` after the other: first one for each object that exists, then one for each change.

When a watch ends or breaks, a new watch starts from the last version. If the server has forgotten that version, all
objects are listed again, and the reader gets the differences. An object that was deleted in the meantime is given in
the last state that was seen.
"""

from __future__ import annotations

import builtins
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import dataclass, replace
from typing import Final, Generic, Protocol, TypeVar

from kinformer.backoff import Backoff
from kinformer.client.errors import ApiError, ClientError, ConfigError, DecodeError, Gone, TooManyRequests
from kinformer.client.reachability import Reachability
from kinformer.client.types import BOOKMARK, ListOptions, ObjectList, WatchEvent
from kinformer.clock import Clock
from kinformer.meta import accessor_for

__all__ = ("Change", "Followed", "follow", "until")

T = TypeVar("T")

#: Seconds between the starts of two watches, as in client-go's RetryWatcher. A server may end each of them at once.
_APART: Final = 1.0


class Followed(Protocol[T]):
    """The part of :class:`kinformer.client.Resource` that is needed to follow it."""

    @property
    def type(self) -> builtins.type[T]:
        """The type of the objects."""

    @property
    def reachability(self) -> Reachability:
        """Whether the server can be reached."""

    async def list(self, namespace: str, options: ListOptions, /) -> ObjectList[T]:
        """List the objects."""

    def watch(
        self, namespace: str, options: ListOptions, /
    ) -> AbstractAsyncContextManager[AsyncIterator[Sequence[WatchEvent[T]]]]:
        """Watch the objects. The events come in batches."""


@dataclass(frozen=True, slots=True)
class Change(Generic[T]):
    """
    A change of an object.

    :ivar type: ``ADDED``, ``MODIFIED`` or ``DELETED``
    :ivar object: the object after the change; for a deletion, its last known state
    :ivar old: the object before the change; None if it was added, or if a new list showed that it was deleted
    """

    type: str
    object: T
    old: T | None


async def follow(resource: Followed[T], namespace: str, options: ListOptions, clock: Clock) -> AsyncIterator[Change[T]]:
    """
    See :meth:`kinformer.client.Resource.follow`.

    :raises ApiError: if the server refuses to list or watch. Errors that may pass are retried
    :raises DecodeError: if an object does not fit the type
    """
    accessor = accessor_for(resource.type)
    known: dict[str, T] = {}
    async with aclosing(_lists_and_events(resource, namespace, options, clock)) as news:
        async for one in news:
            if isinstance(one, list):
                found = {accessor.key(obj): obj for obj in one}
                for key in known.keys() - found.keys():
                    yield Change("DELETED", known.pop(key), None)
                for key, obj in found.items():
                    old = known.get(key)
                    known[key] = obj
                    if old is None:
                        yield Change("ADDED", obj, None)
                    elif not accessor.same_version(old, obj):
                        yield Change("MODIFIED", obj, old)
                continue
            obj = one.object
            key = accessor.key(obj)
            old = known.pop(key, None)
            if one.type == "DELETED":
                yield Change("DELETED", obj, old)
                continue
            known[key] = obj
            yield Change("ADDED" if old is None else "MODIFIED", obj, old)


async def until(
    resource: Followed[T],
    name: str,
    namespace: str,
    condition: Callable[[T | None], bool],
    clock: Clock,
) -> T | None:
    """
    See :meth:`kinformer.client.Resource.until`.

    :raises ApiError: as :func:`follow`
    """
    options = ListOptions(field_selector=f"metadata.name={name}")
    accessor = accessor_for(resource.type)
    async with aclosing(_lists_and_events(resource, namespace, options, clock)) as news:
        async for one in news:
            if isinstance(one, list):
                current = next((obj for obj in one if accessor.name(obj) == name), None)
            else:
                current = None if one.type == "DELETED" else one.object
            if condition(current):
                return current
    raise AssertionError("the events do not end before the condition holds")


async def _lists_and_events(
    resource: Followed[T], namespace: str, options: ListOptions, clock: Clock
) -> AsyncGenerator[list[T] | WatchEvent[T], None]:
    """
    Give all objects as a list, and then each event. When the server has forgotten the history, give a list again.

    :raises ClientError: if an error will not pass
    """
    accessor = accessor_for(resource.type)
    #: The version to watch from; empty if everything is to be listed.
    version = ""
    backoff = Backoff(clock=clock)
    started = clock.monotonic() - _APART
    while True:
        try:
            if not version:
                listed = await resource.list(namespace, options)
                yield listed.items
                version = listed.resource_version
            if (early := started + _APART - clock.monotonic()) > 0:
                await clock.sleep(early)
            started = clock.monotonic()
            since = replace(options, resource_version=version, allow_watch_bookmarks=True)
            async with resource.watch(namespace, since) as batches:
                async for batch in batches:
                    for event in batch:
                        version = accessor.resource_version(event.object) or version
                        if event.type != BOOKMARK:
                            yield event
        except Gone:  # servers up to 1.17, and proxies, do not say Expired
            if not version:
                raise
            version = ""
        except ClientError as error:
            if not passes(error):
                raise
            await resource.reachability.wait(backoff.next())


def passes(error: ClientError) -> bool:
    """Whether another try may succeed: the connection was lost, or the server is busy or has a fault."""
    if isinstance(error, TooManyRequests):
        return True
    if isinstance(error, ApiError):
        return error.code >= 500
    return not isinstance(error, (DecodeError, ConfigError))
