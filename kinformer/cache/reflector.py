"""Reflector: keeps a store equal to what the server has, for as long as it runs.

It lists everything once, by a streaming list or in pages, and passes the list to the store's ``replace``. Then it
watches, and passes each event to the store's ``add``, ``update`` or ``delete``. When a watch ends, the next one goes on
from the version that was reached. When the server has forgotten that version, the reflector lists again. When requests
fail, it backs off. The behaviour is that of client-go 1.36.

The store is usually the informer's queue. Batches of decoded events flow in. One plain call for each event flows out,
and one awaited ``on_batch`` for each batch, in which the informer processes what was queued. No task, future or lock is
used per event.
"""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Generic, TypeVar

import anyio
from anyio.abc import TaskGroup

from kinformer.backoff import Backoff
from kinformer.cache.consistency import InconsistentList, check_consistency, consistency_is_checked
from kinformer.cache.contact import Contact
from kinformer.cache.intake import Intake
from kinformer.cache.listwatch import ListAgain, ListerWatcher, lists_at_once, reachability_of
from kinformer.cache.metrics import failures_total
from kinformer.cache.options import DEFAULT_MIN_WATCH_TIMEOUT, DEFAULT_OPTIONS, InformerOptions, check_options
from kinformer.cache.pager import DEFAULT_PAGE_SIZE, PagedList, list_in_pages
from kinformer.cache.store import ReflectorStore
from kinformer.cache.streaming_list import InitialEvents, StreamedList, StreamingListIgnored, shows_end
from kinformer.cache.thread_safe_store import ThreadSafeStore
from kinformer.cache.watch_errors import (
    ListNotStored,
    RetryWithDeadline,
    StreamingListCut,
    UnexpectedError,
    VeryShortWatch,
    WatchWentBack,
    default_watch_error_handler,
    delay_of,
    is_retriable,
)
from kinformer.cancellation import ends_this_task
from kinformer.client.errors import (
    ClientError,
    ConnectionLost,
    InternalError,
    ServerUnreachable,
    TooManyRequests,
    is_expired,
    is_too_large_resource_version,
)
from kinformer.client.types import BOOKMARK, ListOptions, WatchEvent
from kinformer.clock import Clock, RealClock
from kinformer.cluster import in_cluster
from kinformer.logs import error_text, get_logger
from kinformer.meta import Accessor, accessor_for, is_older
from kinformer.tasks import plain_task_group

__all__ = ("DEFAULT_PAGE_SIZE", "Reflector")

T = TypeVar("T")

log = get_logger(__name__)

#: Seconds. A watch that ends sooner, without an event, counts as a failure.
_VERY_SHORT = 1.0

#: Number of attempts at a streaming list that is cut before its end. After these, a plain list is tried.
_STREAM_TRIES = 3

Batches = AsyncIterator[Sequence[WatchEvent[T]]]


# More than 15 fields: it has the settings of each step from the list to the store, as client-go's has.
class Reflector(Generic[T]):
    """
    Mirrors one resource into a store.

    :param lister_watcher: lists and watches the resource
    :param type_: the type of the objects: a model, a Struct, or dict
    :param store: the store to fill. Its method ``bookmark(resource_version)``, if it has one, is called at bookmarks.
    :param name: the reflector's name in logs and errors
    :param resync_period: seconds between calls of the store's ``resync``; 0 for never
    :param should_resync: called at the end of each period: whether to resync now. None resyncs every time.
    :param expected_kind: for dicts: objects of another kind are logged and left out
    :param known: the objects that the store has. Unchanged parts are taken over from them, and an object stays in the
        store while newer states of it do not decode.
    :param on_batch: awaited after each batch, list and resync, when all of it is in the store
    :param on_listed: called with each object of a list before it is stored
    :param options: how it lists and watches
    :ivar contact: whether the server can be reached, and what it has sent
    """

    def __init__(
        self,
        lister_watcher: ListerWatcher[T],
        type_: type[T],
        store: ReflectorStore[T],
        *,
        name: str = "",
        resync_period: float = 0.0,
        should_resync: Callable[[], bool] | None = None,
        expected_kind: str = "",
        known: ThreadSafeStore[T] | None = None,
        on_batch: Callable[[], Awaitable[None]] | None = None,
        on_listed: Callable[[T], None] | None = None,
        options: InformerOptions = DEFAULT_OPTIONS,
        clock: Clock | None = None,
    ):
        check_options(options)
        self.name = name or type_.__name__
        self._lister_watcher = lister_watcher
        self._store = store
        self._options = options
        #: The store's methods to replace and resync in parts, if it has them.
        self._replacing: Callable[[Sequence[T], str], Iterator[None]] | None = getattr(store, "replacing", None)
        self._resyncing: Callable[[], Iterator[None]] | None = getattr(store, "resyncing", None)
        self._accessor: Accessor[T] = accessor_for(type_)
        self._intake: Intake[T] = Intake(
            self.name,
            self._accessor,
            store,
            known,
            expected_kind=expected_kind,
            on_listed=on_listed,
            options=options,
        )
        self.clock = clock or RealClock()
        self.contact = Contact(self.clock)
        self._backoff = (
            Backoff(clock=self.clock, random=options.random, reset_after=None, reset_every=120.0)
            if options.backoff is None
            else copy.copy(options.backoff)
        )
        self._reachability = reachability_of(lister_watcher, self.clock)
        self._resync_period = resync_period
        self._should_resync = should_resync
        self._paginated = False
        self._watch_error_handler = options.watch_error_handler or default_watch_error_handler
        self._use_watch_list = (
            bool(options.use_watch_list) and lister_watcher.supports_watch_list and shows_end(self._accessor)
        )
        #: Whether a plain list gives the most recent state and takes the place of a streaming list.
        self._lists_at_once = False
        self.on_batch = on_batch or _nothing
        self._version_unavailable = False
        #: Whether the store was filled by others, and no watch has shown yet that the server still has its version.
        self._begins_late = False
        #: Whether the store has some objects of a list, and not all.
        self.is_replacing = False
        #: Set at the end of a running resync. Until then no batch is processed. None while no resync runs.
        self._resync: anyio.Event | None = None

    @property
    def last_sync_resource_version(self) -> str:
        """The version of the last list or event that was passed to the store; empty before the first list."""
        return self._intake.resource_version

    def begin_at(self, resource_version: str) -> None:
        """
        Watch from a version that the store is at already. Call it before :meth:`run`.

        Everything is listed if the server does not have that version any more.
        """
        self._intake.resource_version = resource_version
        self._begins_late = True

    async def run(self) -> None:
        """
        List and watch again and again, with backoff in between, until cancelled.

        Each failure of a list or watch is reported, counted, and followed by a wait.

        :raises InconsistentList: if ``KUBE_WATCHLIST_INCONSISTENCY_DETECTOR`` is on and found a difference
        """
        try:
            await self._run()
        finally:
            self._intake.undecodable.clear()

    async def _run(self) -> None:
        while True:
            try:
                await self.list_and_watch()
            except ListAgain:
                continue
            except ClientError as error:
                self._failed(error)
            except InconsistentList:
                raise
            except BaseException as error:
                # Raised by a user's own lister-watcher, or by an answer of a form that was never expected.
                if ends_this_task(error):
                    raise
                unexpected = UnexpectedError(self.name, error)
                unexpected.__cause__ = error
                self._failed(unexpected)
            await self._wait(self._backoff.next())

    async def list_and_watch(self) -> None:
        """
        List once, then watch until the watch cannot go on.

        :raises ClientError: if the list failed, or a watch was refused for a reason that waiting does not mend
        """
        if self._resync_period <= 0:
            await self._list_then_watch(None)
            return
        async with plain_task_group() as tasks:
            await self._list_then_watch(tasks)
            tasks.cancel_scope.cancel()
        # A resync that was cancelled halfway may have left queued items.
        await self.on_batch()

    async def _list_then_watch(self, tasks: TaskGroup | None) -> None:
        opened: _Opened[T] | None = None
        if self._begins_late:
            log.debug("watch_begins", reflector=self.name, resource_version=self._intake.resource_version)
        elif self._use_watch_list and not await self._prefers_plain_list():
            try:
                opened = await self._watch_list()
            except StreamingListIgnored as error:
                # A server that sent objects and no bookmark after them will not send one the next time either.
                self._use_watch_list = not error.objects
                log.warning("streaming_list_failed", reflector=self.name, error=str(error), fallback="list")
            except ClientError as error:
                log.debug("streaming_list_failed", reflector=self.name, error=str(error), fallback="list")
        if opened is None and not self._begins_late:
            await self._list()
        log.debug("cache_populated", reflector=self.name, resource_version=self._intake.resource_version)
        if tasks is not None:
            tasks.start_soon(self._resync_periodically, tasks.cancel_scope, name=f"{self.name} resync")
        await self._watch(opened)

    async def _wait(self, seconds: float) -> None:
        """Wait before the next attempt. The wait ends early when a server that could not be reached is back."""
        if self._reachability is None:
            await self.clock.sleep(seconds)
        elif await self._reachability.wait(seconds):
            self._backoff.reset()

    def _failed(self, error: ClientError) -> None:
        """Count a failure of a list or watch, and call the watch error handler."""
        self._note_failure(error)
        if (
            self._watch_error_handler is default_watch_error_handler
            and isinstance(error, ServerUnreachable)
            and self._reachability is not None
        ):
            return  # logged once for all who wait for this server
        try:
            self._watch_error_handler(self.name, error)
        except Exception:
            log.exception("watch_error_handler_failed", reflector=self.name, error=error_text(error))

    def _note_failure(self, error: ClientError) -> None:
        cause = error.__cause__ if isinstance(error, UnexpectedError) and error.__cause__ is not None else error
        failures_total.labels(in_cluster(self.name), type(cause).__name__).inc()
        self.contact.failed(error)

    async def _resync_periodically(self, watch: anyio.CancelScope) -> None:
        while True:
            await self.clock.sleep(self._resync_period)
            if self._should_resync is not None and not self._should_resync():
                continue
            self._resync = anyio.Event()
            try:
                for _ in self._resyncing() if self._resyncing is not None else self._resync_at_once():
                    await self.on_batch()
                await self.on_batch()
            except Exception:
                # As in client-go: if a resync fails, everything is listed again.
                log.exception("resync_failed", reflector=self.name)
                watch.cancel()
                return
            finally:
                self._resync.set()
                self._resync = None

    # --- the store

    async def _replace(self, objects: Sequence[T], version: str) -> None:
        """
        Pass a list to the store, with the last states of the objects that were left out of it.

        :raises ListNotStored: if the store raises
        """
        before = self._intake.resource_version
        self.is_replacing = True
        objects = [*objects, *self._intake.undecodable.end_list()]
        try:
            if self._replacing is not None:
                for _ in self._replacing(objects, version):
                    await self.on_batch()
            else:
                self._store.replace(objects, version)
            self.contact.heard()
            # Before the last part is processed, so that the store can be told the version that it has reached.
            self._intake.resource_version = version
            await self.on_batch()
        except Exception as error:
            self._intake.resource_version = before
            raise ListNotStored(self.name, error) from error
        finally:
            self.is_replacing = False
        self.contact.lists += 1
        self.contact.mended(self.contact.breaks)

    def _resync_at_once(self) -> Iterator[None]:
        self._store.resync()
        return iter(())

    # --- the list

    async def _prefers_plain_list(self) -> bool:
        """Whether not to ask for a streaming list, although the server may have one."""
        if self._options.use_watch_list == "auto":
            try:
                self._lists_at_once = await lists_at_once(self._lister_watcher)
            except ClientError as error:
                log.debug("server_version_unknown", reflector=self.name, error=str(error))
                self._lists_at_once = False
        return self._lists_at_once

    async def _list(self) -> None:
        first_version = self._relist_version()
        page_size = self._limit(first_version)
        try:
            found = await self._list_at(first_version, page_size)
        except ClientError as error:
            if not (is_expired(error) or is_too_large_resource_version(error)):
                raise
            # The version to list at is not available. Asking for the most recent state always makes progress.
            self._version_unavailable = True
            found = await self._list_at(self._relist_version(), page_size)
        if self._is_stale(found.resource_version):
            found = await self._list_at(self._relist_version(), page_size)
        if first_version == "0" and found.paginated:
            # A server that pages at version 0 has no watch cache. Read its lists in pages from now on.
            self._paginated = True
        self._version_unavailable = False
        for one in found.left_out:
            self._intake.undecodable.note(one.key, one.error, listed=True)
        await self._replace(found.items, found.resource_version)

    async def _list_at(self, version: str, page_size: int) -> PagedList[T]:
        return await list_in_pages(
            self._lister_watcher,
            version,
            page_size,
            self._intake.take_in,
            self._options.max_objects,
            begin=self._intake.begin_list,
        )

    def _is_stale(self, version: str) -> bool:
        """
        Whether a list is older than what was seen before, so that the most recent state has to be asked for.

        The server was asked for no older state (kubernetes#59848 is about servers that return one). A list of the most
        recent state is used whatever its version is: the server may have been restored from a backup.
        """
        if self._version_unavailable or not is_older(version, self._intake.resource_version):
            return False
        log.warning("list_is_old", reflector=self.name, version=version, reached=self._intake.resource_version)
        self._version_unavailable = True
        return True

    def _limit(self, resource_version: str) -> int:
        if self._options.page_size:
            return self._options.page_size
        if self._lists_at_once or (not self._paginated and resource_version not in ("", "0")):
            # Without a limit the server can answer from its watch cache. With a limit it would ask etcd.
            return 0
        return DEFAULT_PAGE_SIZE

    def _relist_version(self) -> str:
        if self._version_unavailable:
            return ""
        return self._intake.resource_version or ("" if self._lists_at_once else "0")

    # --- the streaming list

    async def _watch_list(self) -> _Opened[T]:
        """
        Read everything as the first events of a watch, and keep that watch open.

        :raises StreamingListIgnored: if the server seems not to know streaming lists
        :raises ClientError: if this server gives no streaming list
        """
        cuts = 0
        while True:
            started = self.clock.monotonic()
            options = ListOptions(
                resource_version="" if self._version_unavailable else self._intake.resource_version,
                resource_version_match="NotOlderThan",
                allow_watch_bookmarks=True,
                send_initial_events=True,
                timeout_seconds=self._watch_timeout(),
            )
            wait = 0.0
            self._intake.begin_list()
            async with AsyncExitStack() as attempt:
                try:
                    batches = await attempt.enter_async_context(self._lister_watcher.watch(options))
                    initial = InitialEvents(
                        self.name, self._accessor, self._intake.accept, self.clock, started, self._options.max_objects
                    )
                    found = await initial.read(batches)
                    if found is not None:
                        if self._is_stale(found.resource_version):
                            continue
                        self._version_unavailable = False
                        await self._take_streamed(found)
                        return _Opened(attempt.pop_all(), batches, found.rest)
                    self._check_duration(started, initial.received)
                    cuts += 1
                    if cuts >= _STREAM_TRIES:
                        raise StreamingListCut(self.name, cuts)
                    # The first cut may be a server that ended. After that, something cuts these lists every time.
                    wait = self._backoff.next() if cuts > 1 else 0.0
                except ClientError as error:
                    if not self._version_unavailable and (is_expired(error) or is_too_large_resource_version(error)):
                        # Only once: a server that refuses the most recent state as well would be asked for ever.
                        self._version_unavailable = True
                    elif is_retriable(error):
                        self._note_failure(error)
                        wait = delay_of(error, self._backoff.next())
                    else:
                        raise
            if wait:
                await self._wait(wait)

    async def _take_streamed(self, found: StreamedList[T]) -> None:
        """Pass a streaming list to the store. Compare it with a plain list first, if the environment asks for that."""
        if consistency_is_checked():
            await check_consistency(
                self.name,
                self._lister_watcher,
                self._accessor,
                found.objects,
                found.resource_version,
                self._intake.accept,
                self.clock,
            )
        await self._replace(found.objects, found.resource_version)

    # --- the watch

    async def _watch(self, opened: _Opened[T] | None) -> None:
        """
        Follow the server, watch after watch.

        :param opened: the watch that a streaming list left open; it is used first
        :raises ClientError: if a watch was refused for a reason that waiting does not mend
        """
        internal_errors = RetryWithDeadline(self.clock, self._options.max_internal_error_retry)
        while True:
            async with AsyncExitStack() as stack:
                started = self.clock.monotonic()
                if opened is not None:
                    stack.push_async_exit(opened.context)
                    batches, rest, in_order = opened.batches, opened.rest, True
                    opened = None
                else:
                    version = self._intake.resource_version
                    options = ListOptions(
                        resource_version=version, allow_watch_bookmarks=True, timeout_seconds=self._watch_timeout()
                    )
                    try:
                        batches = await stack.enter_async_context(self._lister_watcher.watch(options))
                    except ClientError as error:
                        self._check_begin(error)
                        if not is_retriable(error):
                            raise
                        self._note_failure(error)
                        log.debug("watch_refused", reflector=self.name, error=str(error))
                        await self._wait(delay_of(error, self._backoff.next()))
                        continue
                    # Without a version the server first sends everything it has, in no order of versions.
                    rest, in_order = (), version not in ("", "0")
                self.contact.opened()
                if not self._intake.has_seen_bookmark:
                    self.contact.heard()
                try:
                    await self._reflect(batches, rest, started, in_order=in_order)
                    continue
                except ListAgain:
                    raise
                except ClientError as error:
                    self.contact.broke()
                    self._check_begin(error)
                    ended = error
            # The connection is closed by now, so a wait holds nothing open.
            if isinstance(ended, TooManyRequests):
                log.info("watch_throttled", reflector=self.name, error=str(ended))
                await self._wait(delay_of(ended, self._backoff.next()))
            elif isinstance(ended, InternalError) and internal_errors.failed():
                log.info("watch_retried", reflector=self.name, error=str(ended))
            else:
                # This includes Expired: the list that follows asks for at least the version that was reached.
                level = log.debug if is_expired(ended) else log.warning
                level("watch_ended", reflector=self.name, error=str(ended))
                return

    async def _reflect(
        self, batches: Batches[T], rest: Sequence[WatchEvent[T]], started: float, *, in_order: bool
    ) -> None:
        """Pass what a watch sends to the store, until the watch ends."""
        received, contact = len(rest), self.contact
        if rest:
            in_order = self._intake.apply(rest, in_order)
            await self.on_batch()
            self._check_order()
        try:
            async for batch in batches:
                if not batch:
                    continue
                received += len(batch)
                self._begins_late = False
                contact.heard()
                if self._resync is not None:
                    await self._resync.wait()
                in_order = self._intake.apply(batch, in_order)
                await self.on_batch()
                self._check_order()
                if contact.is_behind and any(event.type == BOOKMARK for event in batch):
                    contact.mended(contact.breaks)
        except ConnectionLost as error:
            contact.broke()
            # Everything before the break is in the store. The next watch goes on from there.
            log.debug("watch_broke", reflector=self.name, error=str(error))
        self._check_duration(started, received)

    def _check_begin(self, error: ClientError) -> None:
        """
        Decide about a watch that failed.

        :raises ListAgain: if the server does not have the version that the store was filled at
        """
        if self._begins_late and (is_expired(error) or is_too_large_resource_version(error)):
            self._begins_late = False
            version = self._intake.resource_version
            log.info("snapshot_too_old", reflector=self.name, resource_version=version, error=str(error))
            raise ListAgain(str(error)) from None

    def _check_duration(self, started: float, received: int) -> None:
        if not received and self.clock.monotonic() - started < _VERY_SHORT:
            raise VeryShortWatch(self.name)

    def _check_order(self) -> None:
        if self._intake.old_version:
            raise WatchWentBack(self.name, self._intake.old_version, self._intake.resource_version)

    def _watch_timeout(self) -> int:
        shortest = max(self._options.min_watch_timeout, DEFAULT_MIN_WATCH_TIMEOUT)
        return int(shortest * (1 + self._options.random()))


@dataclass(slots=True)
class _Opened(Generic[T]):
    """
    An open watch whose initial events have been read.

    :param context: closes the watch
    :param rest: the events that came in the same batch after the initial ones
    """

    context: AsyncExitStack
    batches: Batches[T]
    rest: Sequence[WatchEvent[T]]


async def _nothing() -> None:
    """Stands in for `on_batch`."""
