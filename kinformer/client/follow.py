"""Following: a list and then its changes, for as long as somebody asks, through all that ends a watch.

An informer does this for controllers, with a cache that many share. This is for one reader: a script, a test, a small
tool. What flows out is one :class:`Change` after the other: first each object that is there, then what happens to
them. A watch that ends or breaks is opened again from where it was. Where the server has forgotten that version,
everything is listed anew, and what differs is told: an object that went away meanwhile as deleted, in the last state
that was seen.
"""

from __future__ import annotations

import builtins
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar

from kinformer.backoff import Backoff
from kinformer.client.errors import ApiError, ClientError, ConfigError, DecodeError, Expired, TooManyRequests
from kinformer.client.reachability import Reachability
from kinformer.client.types import BOOKMARK, ListOptions, ObjectList, WatchEvent
from kinformer.clock import Clock
from kinformer.meta import accessor_for

__all__ = ("Change", "Followed", "follow", "until")

T = TypeVar("T")


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
    Something that has happened to an object.

    :ivar type: ``ADDED``, ``MODIFIED`` or ``DELETED``
    :ivar object: as it is now; of one that was deleted, as it was last
    :ivar old: as it was before; None for one that was added
    """

    type: str
    object: T
    old: T | None


async def follow(resource: Followed[T], namespace: str, options: ListOptions, clock: Clock) -> AsyncIterator[Change[T]]:
    """
    See :meth:`kinformer.client.Resource.follow`.

    :raises ApiError: if the server refuses to list or watch; what passes by itself is tried again
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
    raise AssertionError("it goes on until somebody is content")


async def _lists_and_events(
    resource: Followed[T], namespace: str, options: ListOptions, clock: Clock
) -> AsyncGenerator[list[T] | WatchEvent[T], None]:
    """
    All objects as a list, then each event after it; again a list whenever the server has forgotten the history between.

    :raises ClientError: if it is not one that passes by itself
    """
    accessor = accessor_for(resource.type)
    version = ""
    backoff = Backoff(clock=clock)
    while True:
        try:
            if not version:
                listed = await resource.list(namespace, options)
                yield listed.items
                version = listed.resource_version
            since = replace(options, resource_version=version, allow_watch_bookmarks=True)
            async with resource.watch(namespace, since) as batches:
                async for batch in batches:
                    for event in batch:
                        version = accessor.resource_version(event.object) or version
                        if event.type != BOOKMARK:
                            yield event
        except Expired:
            version = ""
        except ClientError as error:
            if not passes(error):
                raise
            await resource.reachability.wait(backoff.next())


def passes(error: ClientError) -> bool:
    """Whether an error may be over when the same is asked again: the line, or a server that is busy or broken."""
    if isinstance(error, TooManyRequests):
        return True
    if isinstance(error, ApiError):
        return error.code >= 500
    return not isinstance(error, (DecodeError, ConfigError))
