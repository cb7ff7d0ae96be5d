"""What a Reflector needs of a server: one way to list, one way to watch.

:class:`kinformer.client.Resource` is such a thing when it is told its namespace and selectors by :class:`ListWatch`;
tests script their own. Both methods take :class:`~kinformer.client.types.ListOptions` and add to them whatever narrows
this lister-watcher's view.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

from kinformer.client.errors import ClientError
from kinformer.client.reachability import Reachability
from kinformer.client.types import ListOptions, ObjectList, WatchEvent
from kinformer.clock import Clock, RealClock

__all__ = ("ListAgain", "ListWatch", "ListerWatcher", "WatchableResource", "list_accepting", "reachability_of")

T = TypeVar("T")


class ListAgain(ClientError):
    """What a lister-watcher lists is more than it was: everything is to be listed again, at once. Its watch ended."""


class ListerWatcher(Protocol[T]):
    """
    Lists and watches the objects of one resource.

    An object that does not decode may be told of (a list's `left_out`, an :class:`~kinformer.client.types.Undecodable`
    in its event's place) and is left out then; or it may be an error of the whole list or watch.
    """

    @property
    def supports_watch_list(self) -> bool:
        """Whether :meth:`watch` can be asked for the initial events; a server that cannot is found out all the same."""

    async def list(self, options: ListOptions) -> ObjectList[T]:
        """
        One answer to a list: everything, or a page when `options` has a limit.

        :raises ClientError: if the server refuses or cannot be reached
        """

    def watch(self, options: ListOptions) -> AbstractAsyncContextManager[AsyncIterator[Sequence[WatchEvent[T]]]]:
        """
        Open a watch; leaving the context closes it.

        Its iterator gives batches of events in the server's order and ends when the server ends the stream.

        :raises ClientError: if the server refuses, or in the middle if it sends an ERROR event or the connection breaks
        """


async def list_accepting(
    lister_watcher: ListerWatcher[T], options: ListOptions, accept: Callable[[T], bool]
) -> ObjectList[T]:
    """List what `accept` does not say False to; it is given each object as it comes, where the lister can do that."""
    as_it_comes = getattr(lister_watcher, "list_as_it_comes", None)
    if as_it_comes is not None:
        found: ObjectList[T] = await as_it_comes(options, accept)
        return found
    found = await lister_watcher.list(options)
    return replace(found, items=list(filter(accept, found.items)))


def reachability_of(lister_watcher: ListerWatcher[Any], clock: Clock) -> Reachability | None:
    """
    What knows whether a lister-watcher's server can be reached.

    :param clock: of whoever waits: with another one than the client's, waits of the two have nothing in common
    """
    found: Reachability | None = getattr(lister_watcher, "reachability", None)
    if found is None:
        return None
    real = isinstance(found.clock, RealClock) and isinstance(clock, RealClock)
    return found if real or found.clock is clock else None


class WatchableResource(Protocol[T]):
    """The part of a client's resource that :class:`ListWatch` uses."""

    async def list(
        self,
        namespace: str = "",
        options: ListOptions = ...,
        *,
        accept: Callable[[T], bool] | None = None,
        leave_out: bool = False,
    ) -> ObjectList[T]: ...

    def watch(
        self, namespace: str = "", options: ListOptions = ..., *, leave_out: bool = False
    ) -> AbstractAsyncContextManager[AsyncIterator[Sequence[WatchEvent[T]]]]: ...


@dataclass(frozen=True, slots=True)
class ListWatch(ListerWatcher[T]):
    """
    The objects of a client's resource, or those of one namespace, or those that selectors match.

    What does not decode is told of, and stops nothing.

    :param namespace: empty for all
    :param shard_selector: a share of them, where the server knows how to; elsewhere all of them
    :param supports_watch_list: False where the client has lists compressed, which streaming ones never are
    :raises ValueError: if a selector cannot be parsed
    """

    resource: WatchableResource[T]
    namespace: str = ""
    label_selector: str = ""
    field_selector: str = ""
    supports_watch_list: bool = True
    shard_selector: str = ""

    def __post_init__(self) -> None:
        self._narrowed(ListOptions())
        if getattr(self.resource, "compression", False):
            object.__setattr__(self, "supports_watch_list", False)

    async def list(self, options: ListOptions) -> ObjectList[T]:
        return await self.resource.list(self.namespace, self._narrowed(options), leave_out=True)

    async def list_as_it_comes(self, options: ListOptions, accept: Callable[[T], bool]) -> ObjectList[T]:
        """:meth:`list`; `accept` is given each object while others are still coming."""
        return await self.resource.list(self.namespace, self._narrowed(options), accept=accept, leave_out=True)

    def watch(self, options: ListOptions) -> AbstractAsyncContextManager[AsyncIterator[Sequence[WatchEvent[T]]]]:
        return self.resource.watch(self.namespace, self._narrowed(options), leave_out=True)

    @property
    def reachability(self) -> Reachability | None:
        """Whether the server can be reached, where the resource knows."""
        return getattr(self.resource, "reachability", None)

    def _narrowed(self, options: ListOptions) -> ListOptions:
        return replace(
            options,
            label_selector=self.label_selector,
            field_selector=self.field_selector,
            shard_selector=self.shard_selector,
        )
