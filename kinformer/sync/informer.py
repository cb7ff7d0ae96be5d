"""Informer: a cache that any thread may read, kept up to date in the thread of a client.

It is a :class:`~kinformer.cache.SharedIndexInformer`, made by :meth:`kinformer.sync.Resource.informer`. Event handlers
are called in threads of their own, so they may block.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import Any, Generic, Self, TypeVar

import anyio
from anyio import to_thread

from kinformer.cache import (
    CATCH_UP_TIMEOUT,
    CacheBehind,
    Indexer,
    InformerStateError,
    ListWatch,
    ProcessorListener,
    ResourceEventHandler,
    SharedIndexInformer,
    wait_for_cache_sync,
    wait_until_as_new_as,
)
from kinformer.client import ClientError, ListOptions
from kinformer.sync.calls import Calls

__all__ = ("Informer",)

T = TypeVar("T")


class Informer(Generic[T]):
    """
    The objects of one resource, kept up to date while the block runs.

    ::

        with client.resource(V1Pod).informer("default", label_selector="app=web") as pods:
            pods.wait_synced(timeout=30)
            print(pods.objects["default/web-0"].status.phase)

    A program that starts and stops it in different places calls :meth:`start` and :meth:`close`. Closing the client
    ends it, too.

    :ivar aio: the asynchronous informer, for everything that has no method here. All but its cache may be used only in
        the client's thread: see :meth:`kinformer.sync.Client.call`
    """

    def __init__(self, calls: Calls, source: ListWatch[T], aio: SharedIndexInformer[T]):
        self.aio = aio
        self._source = source
        self._calls = calls
        self._run: Future[None] | None = None
        self._closed = False

    def __repr__(self) -> str:
        return f"<Informer {self.aio.name}: {len(self.aio.indexer)} objects, blocking>"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> None:
        """
        Begin to follow the server, and return at once.

        :raises InformerStateError: if it was started before
        :raises ClientError: if the client is closed
        """
        if self._run is not None:
            raise InformerStateError(f"informer {self.aio.name} has already started")
        self._run = self._calls.start(self.aio.run)

    def close(self) -> None:
        """
        Stop following the server, and return when no handler is called any more. A second call has no effect.

        A handler must not call this: it would wait for its own end.

        :raises Exception: the error that has ended the informer, if it has ended by itself
        """
        if self._run is None or self._closed:
            return
        self._closed = True
        failed = self._run.done() and not self._run.cancelled()
        self._run.cancel()
        with suppress(ClientError):  # the client is closed, which has ended the informer
            self._calls(self.aio.wait_stopped)
        if failed:
            self._run.result()

    @property
    def indexer(self) -> Indexer[T]:
        """
        The cache. Any thread may read it.

        :raises InformerStateError: if nothing keeps it up to date any more
        """
        self._check()
        return self.aio.indexer

    @property
    def objects(self) -> Mapping[str, T]:
        """
        The cache as a mapping by ``namespace/name``. Any thread may read it, and it shows every change.

        :raises InformerStateError: if nothing keeps it up to date any more
        """
        return self.indexer.objects

    @property
    def has_synced(self) -> bool:
        """Whether the first list is in the cache."""
        return self.aio.has_synced

    @property
    def is_current(self) -> bool:
        """Whether the cache is not known to be behind: see :attr:`.SharedIndexInformer.is_current`."""
        return self.aio.is_current

    @property
    def failure(self) -> Exception | None:
        """Why the last list or watch failed; None while a watch is open, or nothing has failed yet."""
        return self.aio.failure

    def wait_synced(self, timeout: float | None = None) -> None:
        """
        Wait until the first list is in the cache.

        :param timeout: seconds; None for no limit
        :raises CacheNotSynced: if it has not synced by then. The error says why the last list failed
        :raises InformerStateError: if the informer has ended, or was not started
        """
        self._check()
        try:
            self._calls(partial(wait_for_cache_sync, self.aio, timeout=timeout))
        except InformerStateError:
            self._check()
            raise

    def wait_until_present(self, timeout: float = CATCH_UP_TIMEOUT) -> None:
        """
        Wait until the cache shows everything that was written before this call, by any client.

        Usually it takes some milliseconds and two small requests.

        :param timeout: seconds
        :raises CacheBehind: if the cache does not show it by then
        :raises ClientError: if the server cannot be asked
        """
        self._check()

        async def catch_up() -> tuple[str, ...]:
            with anyio.fail_after(timeout):
                newest = await self._source.list(ListOptions(limit=1))
            return await wait_until_as_new_as([self.aio], newest.resource_version, timeout=timeout)

        try:
            late = self._calls(catch_up)
        except TimeoutError:
            late = (self.aio.name,)
        if late:
            raise CacheBehind(f"the cache of informer {self.aio.name} may be old after {timeout:g} s")

    def add_event_handler(
        self, handler: ResourceEventHandler[T], *, resync_period: float | None = None, since: str = ""
    ) -> ProcessorListener[T]:
        """
        Call `handler` for every change, and first for every object that is there. It is called in a thread of its own,
        for one change after the other. It may block, and delays nobody else.

        :param resync_period: seconds between resyncs of this handler; None for the informer's period, 0 for never. It
            cannot be shorter than the informer's.
        :param since: first call it only for objects that have changed since this version: see
            :meth:`.SharedIndexInformer.add_event_handler`
        :return: the registration, to remove the handler
        :raises InformerStateError: if the informer has ended
        """
        self._check_not_ended()

        async def add() -> ProcessorListener[T]:
            return self.aio.add_event_handler(_InThread(handler), resync_period=resync_period, since=since)

        return self._calls(add)

    def remove_event_handler(self, registration: ProcessorListener[T]) -> None:
        """
        Do not call this handler again, and return when its last call has ended.

        A handler must not call this: it would wait for its own end.
        """
        self._calls(self.aio.shut_down_event_handler, registration)

    def _check(self) -> None:
        if self._run is None:
            raise InformerStateError(f"informer {self.aio.name} was not started")
        self._calls.check_process()
        self._check_not_ended()

    def _check_not_ended(self) -> None:
        """Raise an InformerStateError if the informer has ended. Its cause is the error that has ended it."""
        if self._run is not None and self._run.done():
            error = None if self._run.cancelled() else self._run.exception()
            raise InformerStateError(f"informer {self.aio.name} has ended" + (f": {error}" if error else "")) from error


class _InThread(Generic[T]):
    """Calls a handler in another thread. Its calls are awaited one by one, so they keep their order."""

    def __init__(self, handler: ResourceEventHandler[T]):
        self.__wrapped__ = handler
        # A limiter of its own: anyio's default lets 40 threads run, so 40 slow handlers would block all other calls.
        self._limiter = anyio.CapacityLimiter(1)

    async def on_add(self, obj: T, is_in_initial_list: bool, /) -> None:
        await self._call(self.__wrapped__.on_add, obj, is_in_initial_list)

    async def on_update(self, old: T, new: T, /) -> None:
        await self._call(self.__wrapped__.on_update, old, new)

    async def on_delete(self, obj: Any, /) -> None:
        await self._call(self.__wrapped__.on_delete, obj)

    async def _call(self, method: Any, *args: Any) -> None:
        await to_thread.run_sync(method, *args, limiter=self._limiter)
