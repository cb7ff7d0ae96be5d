"""What a Reflector needs of a server: a way to list and a way to watch.

:class:`ListWatch` makes it of a :class:`kinformer.client.Resource`, a namespace and selectors. Tests script their own.
Both methods take :class:`~kinformer.client.types.ListOptions`, and add the namespace and selectors of this
lister-watcher to them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

from kinformer.client.errors import ClientError
from kinformer.client.heads import Wanted
from kinformer.client.reachability import Reachability
from kinformer.client.types import ListOptions, ObjectList, WatchEvent
from kinformer.client.watch import DEFAULT_IDLE_TIMEOUT
from kinformer.clock import Clock, RealClock
from kinformer.meta import accessor_of, parse_selector
from kinformer.meta.fields import parse_field_selector

__all__ = (
    "ListAgain",
    "ListWatch",
    "ListerWatcher",
    "WatchableResource",
    "beside",
    "list_accepting",
    "lists_at_once",
    "reachability_of",
)

T = TypeVar("T")


class ListAgain(ClientError):
    """The lister-watcher now covers more objects, so its watch has ended. List everything again at once."""


class ListerWatcher(Protocol[T]):
    """
    Lists and watches the objects of one resource.

    An object that does not decode may be reported and left out: a list reports it in `left_out`, a watch by an
    :class:`~kinformer.client.types.Undecodable` in place of the object. It may also fail the whole list or watch.
    """

    @property
    def supports_watch_list(self) -> bool:
        """Whether to ask :meth:`watch` for the initial events. The reflector also detects a server without them."""

    async def list(self, options: ListOptions) -> ObjectList[T]:
        """
        Send one list request. It returns everything, or a page if `options` has a limit.

        :raises ClientError: if the server refuses or cannot be reached
        """

    def watch(self, options: ListOptions) -> AbstractAsyncContextManager[AsyncIterator[Sequence[WatchEvent[T]]]]:
        """
        Open a watch; leaving the context closes it.

        Its iterator gives batches of events in the server's order, and ends when the server ends the stream.

        :raises ClientError: if the server refuses; while iterating, on an ERROR event or a broken connection
        """


def beside(lister_watcher: ListerWatcher[T]) -> ListerWatcher[T]:
    """
    What lists and watches the same objects, for requests beside those of a reflector.

    A lister-watcher that keeps what its reflector has stored gives another one, which does not.
    """
    ask: Callable[[], ListerWatcher[T]] | None = getattr(lister_watcher, "beside", None)
    return lister_watcher if ask is None else ask()


async def lists_at_once(lister_watcher: ListerWatcher[Any]) -> bool:
    """
    Whether a plain list of everything, at the most recent state, costs this server less than a streaming list.

    False if the lister-watcher does not know.

    :raises ClientError: if the server does not say what it can
    """
    ask: Callable[[], Awaitable[bool]] | None = getattr(lister_watcher, "lists_at_once", None)
    return ask is not None and await ask()


async def list_accepting(
    lister_watcher: ListerWatcher[T], options: ListOptions, accept: Callable[[T], bool]
) -> ObjectList[T]:
    """
    List the objects for which `accept` returns True.

    If the lister can do it, `accept` is called with each object while others are still coming.
    """
    as_it_comes = getattr(lister_watcher, "list_as_it_comes", None)
    if as_it_comes is not None:
        found: ObjectList[T] = await as_it_comes(options, accept)
        return found
    found = await lister_watcher.list(options)
    return replace(found, items=list(filter(accept, found.items)))


def reachability_of(lister_watcher: ListerWatcher[Any], clock: Clock) -> Reachability | None:
    """
    The record of whether a lister-watcher's server can be reached; None if it has none, or it cannot be used.

    :param clock: the caller's clock. If it is another clock than the client's, the record cannot be used: the waits of
        the two have nothing in common.
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
        self,
        namespace: str = "",
        options: ListOptions = ...,
        *,
        idle_timeout: float | None = ...,
        leave_out: bool = False,
        wanted: Wanted | None = None,
    ) -> AbstractAsyncContextManager[AsyncIterator[Sequence[WatchEvent[T]]]]: ...


@dataclass(frozen=True, slots=True)
class ListWatch(ListerWatcher[T]):
    """
    The objects of a client's resource, optionally of one namespace or with selectors.

    Objects that do not decode are reported and left out.

    :param namespace: empty for all namespaces
    :param shard_selector: selects a share of the objects, where the server supports it; other servers send all objects
    :param idle_timeout: seconds of silence after which a second watch is opened, which replaces the first one; None:
        never. Bookmarks come every 60 to 75 s. With a shorter time than that, each silence of that time costs a request
    :param supports_watch_list: False if the client asks for compressed lists, because streaming lists never are
    :param wanted: which objects a watch decodes; None: all. Lists have all of them
    :param lists_at_once: asks whether a plain list costs the server less than a streaming one:
        :meth:`Discovery.lists_at_once <kinformer.client.Discovery.lists_at_once>` of its client. None: it does not
    :raises ValueError: if a selector cannot be parsed
    """

    resource: WatchableResource[T]
    namespace: str = ""
    label_selector: str = ""
    field_selector: str = ""
    supports_watch_list: bool = True
    shard_selector: str = ""
    idle_timeout: float | None = DEFAULT_IDLE_TIMEOUT
    wanted: Wanted | None = None
    lists_at_once: Callable[[], Awaitable[bool]] | None = None

    def __post_init__(self) -> None:
        self._narrowed(ListOptions())
        if getattr(self.resource, "compression", False):
            object.__setattr__(self, "supports_watch_list", False)

    async def list(self, options: ListOptions) -> ObjectList[T]:
        return await self.resource.list(self.namespace, self._narrowed(options), leave_out=True)

    async def list_as_it_comes(self, options: ListOptions, accept: Callable[[T], bool]) -> ObjectList[T]:
        """Like :meth:`list`, but `accept` is called with each object while others are still coming."""
        return await self.resource.list(self.namespace, self._narrowed(options), accept=accept, leave_out=True)

    def watch(self, options: ListOptions) -> AbstractAsyncContextManager[AsyncIterator[Sequence[WatchEvent[T]]]]:
        return self.resource.watch(
            self.namespace,
            self._narrowed(options),
            idle_timeout=self.idle_timeout,
            leave_out=True,
            wanted=self.wanted,
        )

    def selects(self, obj: Any) -> bool:
        """Whether these objects include one like this. Conditions on other fields than names are taken as met."""
        accessor = accessor_of(obj)
        if self.namespace not in ("", accessor.namespace(obj)):
            return False
        fields = {"metadata.name": accessor.name(obj), "metadata.namespace": accessor.namespace(obj)}
        return parse_selector(self.label_selector).matches(accessor.labels(obj)) and all(
            (fields[it.field] == it.value) == it.equal
            for it in parse_field_selector(self.field_selector).requirements
            if it.field in fields
        )

    @property
    def reachability(self) -> Reachability | None:
        """The record of whether the server can be reached; None if the resource keeps none."""
        return getattr(self.resource, "reachability", None)

    def _narrowed(self, options: ListOptions) -> ListOptions:
        return replace(
            options,
            label_selector=self.label_selector,
            field_selector=self.field_selector,
            shard_selector=self.shard_selector,
        )
