"""SharedIndexInformer: a cache of one resource that follows the server and calls any number of event handlers.

An event takes this way: bytes of a watch → Reflector → queue → indexer → each handler's ring buffer → handler. One task
does all of it up to the ring buffers, a batch at a time. An informer of several namespaces has such a task for each.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Generic, TypeVar

import anyio
import msgspec
from anyio.abc import TaskGroup
from anyio.lowlevel import checkpoint

from kinformer.blocking import warn_when_blocked
from kinformer.cache.catching_up import CatchUps, wait_for_version
from kinformer.cache.compressing import Compressor
from kinformer.cache.controller import Controller
from kinformer.cache.delta_fifo import DeltaFIFO
from kinformer.cache.discards import warn_of_discards
from kinformer.cache.distribution import distributor
from kinformer.cache.division import KeyGate
from kinformer.cache.feeds import Feed, Feeds, InNamespace
from kinformer.cache.handlers import ResourceEventHandler, check_handler
from kinformer.cache.index import Indexers
from kinformer.cache.left_out import LeftOut
from kinformer.cache.listwatch import ListerWatcher
from kinformer.cache.metrics import processing_latency_of, track_informer
from kinformer.cache.mutation_detector import MutationDetector, new_mutation_detector
from kinformer.cache.options import DEFAULT_OPTIONS, InformerOptions, check_options
from kinformer.cache.own_writes import wait_for_own_writes
from kinformer.cache.processor import SYNCED, ProcessorListener, SharedProcessor
from kinformer.cache.queue import Queue
from kinformer.cache.real_fifo import RealFIFO
from kinformer.cache.reflector import Reflector
from kinformer.cache.registrations import Registrations
from kinformer.cache.starting import InformerStateError, SyncGate
from kinformer.cache.state import CacheState, StateSource
from kinformer.cache.store import Indexer, KeyListerGetter, TransformFunc
from kinformer.cache.watch_errors import WatchErrorHandler
from kinformer.clock import Clock, RealClock
from kinformer.collector import LARGE, relax
from kinformer.meta import Accessor, GroupVersionResource, accessor_for, is_older
from kinformer.meta.accessor import plain_type
from kinformer.tasks import check_loop, plain_task_group

__all__ = ("InformerStateError", "SharedIndexInformer")

T = TypeVar("T")

#: Seconds without an open watch after which an informer counts as not following the server.
_NOT_FOLLOWING_AFTER = 30.0


# More than 15 fields: it joins the indexer, the reflectors and the handlers, as client-go's does.
class SharedIndexInformer(Generic[T]):
    """
    A local cache of the objects of one resource, with indexes, kept up to date. It calls event handlers for changes.

    What a user can rely on:

    - The cache becomes *eventually* equal to the server. At any moment, each object in it has a state that it had at
      some time, and each object only moves on to later states. Different objects need not be of one moment.
    - Any thread may read the cache (:attr:`indexer`). Handlers and indexers may be added and removed only in the event
      loop's thread.
    - A handler is called for the changes of *one object* in their order: an add, then updates, then a delete, then
      perhaps an add again. For changes of *different objects* it is called in the server's order, except for changes
      that one list found. With the default queue, changes of one object that wait together are one after the other.
    - A handler is called after the cache has the change, for one change after the other. Handlers are independent: a
      slow one does not delay the others. When it is called, the cache may already have later changes.
    - Changes between a broken watch and the next list are joined. An update may stand for several. An object that was
      deleted and made again in that gap is an update whose uid differs.
    - For a deletion in such a gap, the handler gets a :class:`~kinformer.cache.DeletedFinalStateUnknown` (a
      *tombstone*). It has the last state that was seen, which may not be the object's last state.
    - A handler that is added late is first called with an add for every object in the cache.
    - A handler with a resync period is called for every object about once a period. The call is an update from a state
      to the same state.
    - Objects are shared, so nobody may change them; see ``KUBE_CACHE_MUTATION_DETECTOR``.

    :param lister_watcher: lists and watches the resource; or a mapping from namespaces to lister-watchers, one for
        each. The cache then has the objects of all these namespaces, and has synced when each of them was listed
    :param type_: the type of the objects: a model, a Struct, or dict
    :param name: the informer's name in logs, metrics and errors; by default the type's name
    :param indexers: the index functions by name; more can be added at any time
    :param resync_period: seconds between resyncs, for handlers that do not ask for another period; 0 for never
    :param transform: called with each object before it is stored; it may return another, smaller one. It must also
        accept an object that it has returned.
    :param expected_kind: for dicts: objects of another kind are logged and left out
    :param resource: the resource in labels of metrics, besides `name`
    :param mutation_detector: watches the objects for changes; by default as ``KUBE_CACHE_MUTATION_DETECTOR`` says
    :param options: how it follows the server

    :raises ValueError: if the mapping is empty, or has the empty namespace, which means all, beside others
    """

    def __init__(
        self,
        lister_watcher: ListerWatcher[T] | Mapping[str, ListerWatcher[T]],
        type_: type[T],
        *,
        name: str = "",
        indexers: Indexers[T] | None = None,
        resync_period: float = 0.0,
        transform: TransformFunc[T] | None = None,
        expected_kind: str = "",
        resource: GroupVersionResource | None = None,
        mutation_detector: MutationDetector | None = None,
        options: InformerOptions = DEFAULT_OPTIONS,
        clock: Clock | None = None,
    ):
        check_options(options)
        self.name = name or type_.__name__
        self.type = type_ = plain_type(type_)
        self.resource = resource
        self._accessor = accessor_for(type_)
        self._left_out = LeftOut(self.name)
        self._indexer: Indexer[T] = Indexer(
            self._accessor,
            indexers,
            on_index_error=lambda index, key, error: self._left_out.tell(f"index {index}", key, error),
        )
        self._sources = _by_namespace(lister_watcher)
        self._feeds: Feeds[T] = Feeds()
        if len(self._sources) > 1:
            self._indexer.version_in = self._feeds.store_version_in
        self._clock = clock or RealClock()
        self._processor: SharedProcessor[T] = SharedProcessor(self._clock)
        self._detector = mutation_detector or new_mutation_detector(self.name, clock=self._clock)
        self._transform = transform
        self._expected_kind = expected_kind
        self._options = options
        self._compressor: Compressor | None = None
        if options.compress and not options.eager and issubclass(type_, msgspec.Struct):
            self._compressor = Compressor(type_, self._indexer.storage, self._clock)
        #: Whether the cycle collector is to be relaxed when this cache is large, and was not yet.
        self._may_relax_collector = options.relax_collector
        self._synced = SyncGate(f"informer {self.name}", self.name, self._is_started, self._clock)
        self._registrations: Registrations[T] = Registrations(
            self.name,
            self._processor,
            resync_period,
            synced=self._synced,
            is_started=self._is_started,
            there=self._changed_since,
        )
        self._ended = anyio.Event()
        #: Says which keys may be synced in this process; None: all keys.
        self.key_gate: KeyGate | None = None
        #: Gives the state to begin with, instead of a list; None: list.
        self.state_source: StateSource | None = None
        #: The feeds that began with such a state.
        self._begun = CatchUps(self._clock)
        #: Whether the cache is being filled with such a state. Handlers are called once it is complete.
        self._is_filling = False
        #: The event loop that it runs in; None while it does not run.
        self._loop: asyncio.AbstractEventLoop | None = None

    def __repr__(self) -> str:
        return f"<SharedIndexInformer {self.name}: {len(self._indexer)} objects>"

    # --- what there is

    @property
    def indexer(self) -> Indexer[T]:
        """The objects. Any thread may read them. Only the informer writes."""
        return self._indexer

    @property
    def lister_watchers(self) -> tuple[ListerWatcher[T], ...]:
        """What lists and watches the objects: one, or one for each of several namespaces."""
        return tuple(self._sources.values())

    @property
    def namespaces(self) -> tuple[str, ...]:
        """The namespaces whose objects the cache has; empty if it has the objects of all namespaces."""
        return tuple(filter(None, self._sources))

    @property
    def options(self) -> InformerOptions:
        """How it follows the server."""
        return self._options

    @property
    def transform(self) -> TransformFunc[T] | None:
        """It is called with each object before the object is stored; None if objects are stored as they come."""
        return self._transform

    @property
    def feeds(self) -> Feeds[T]:
        """What follows the server: empty before the informer runs, then one feed for each lister-watcher."""
        return self._feeds

    @property
    def accessor(self) -> Accessor[T]:
        """Reads the metadata of the objects."""
        return self._accessor

    @property
    def last_sync_resource_version(self) -> str:
        """The version of the last list or event that was received; empty before the first list."""
        return self._feeds.last_sync_resource_version

    @property
    def store_resource_version(self) -> str:
        """The version up to which :attr:`indexer` is complete; empty before the first list."""
        return self._indexer.storage.last_store_sync_resource_version()

    @property
    def lists(self) -> int:
        """How many lists (plain or streaming) have filled the cache. It grows when a watch could not go on."""
        return max((feed.contact.lists for feed in self._feeds), default=0)

    @property
    def untold(self) -> int:
        """Number of notifications that handlers have not been called with yet."""
        return sum(listener.untold for listener in self._processor)

    @property
    def queued(self) -> int:
        """Number of items in the queue between the reflector and the cache."""
        return self._feeds.queued

    @property
    def has_synced(self) -> bool:
        """Whether everything of the first list is in the cache. Handlers may not have been called for all of it yet."""
        return self._synced.synced

    async def wait_synced(self) -> None:
        """
        Return once :attr:`has_synced` is true.

        :raises InformerStateError: if the informer stopped before it had synced
        """
        await self._synced.wait()

    async def wait_for_version(
        self, resource_version: str, *, namespace: str = "", timeout: float | None = None
    ) -> None:
        """
        Return once :attr:`indexer` shows everything up to a version, for example that of your own last write::

            written = await client.resource(V1Pod).update(pod)
            await pods.wait_for_version(written.metadata.resource_version)

        :param resource_version: of a write of this informer's own resource
        :param namespace: of the object that was written. An informer of several namespaces then knows which watch
            brings the event. Without it, the server is asked about each namespace, which takes about a second
        :param timeout: seconds after which to give up; None means 10
        :raises CacheBehind: if the cache has not reached that version by then
        :raises InformerStateError: if the informer was not started, or has stopped
        """
        if not self.is_started or self.is_stopped:
            raise InformerStateError(f"informer {self.name} is not running: its cache reaches no new version")
        await wait_for_version(self._feeds.of(namespace), resource_version, timeout, self._clock)

    async def wait_for_own_writes(self, *, namespace: str = "", timeout: float | None = None) -> None:
        """
        Return once :attr:`indexer` shows what this context has written: the sync of a ``consistent`` controller, or a
        block of :func:`kinformer.client.noting_writes`. Elsewhere, return at once.

        :param namespace: wait only for writes in this namespace; empty for all
        :param timeout: seconds after which to give up; None means 10
        :raises CacheBehind: if the cache does not show them by then
        """
        await wait_for_own_writes(self, namespace, timeout, self._clock)

    async def _reaches(self, resource_version: str, namespace: str, timeout: float) -> None:
        await self.wait_for_version(resource_version, namespace=namespace, timeout=timeout)

    @property
    def has_to_catch_up(self) -> bool:
        """Whether the cache began with a snapshot, and it is not known yet that it has caught up with the server."""
        return bool(self._begun)

    async def catch_up(self) -> None:
        """
        Return once a cache that began with a snapshot shows what the server had at some time since the start.

        The first call costs a list of one object, and a watch of one second if nothing has changed since the snapshot.
        Controllers await it before their first sync. For a cache that began with a list, return at once.
        """
        await self._begun.catch_up()

    @property
    def is_following(self) -> bool:
        """
        Whether the cache follows the server: the informer has synced and runs, and a watch is open or was open lately.

        It becomes False when no watch could be opened for 30 seconds.
        """
        return self._synced.synced and not self._ended.is_set() and self.failing_for < _NOT_FOLLOWING_AFTER

    @property
    def is_current(self) -> bool:
        """
        Whether the cache is not known to be behind the server. Check it before you delete something because of what the
        cache does *not* show, such as a sign of life or a user of an object.

        It is False before the first list is in the cache, and after the informer has stopped. It becomes False when a
        watch breaks or cannot be opened. It becomes True again when the server has shown that all changes since have
        come: by a list, by a bookmark (about one a minute), or by its answers to
        :func:`~kinformer.cache.wait_until_current`.

        True is no proof: events take their time, and a connection may be dead without a sign. So before you destroy an
        object, also read it, or what it depends on, from the server.
        """
        return not self._ended.is_set() and bool(self._feeds) and all(feed.is_current for feed in self._feeds)

    @property
    def failing_for(self) -> float:
        """Seconds since watches could no longer be opened. 0 while a watch is open, or nothing has failed yet."""
        return max((feed.contact.failing_for for feed in self._feeds), default=0.0)

    @property
    def silent_for(self) -> float:
        """Seconds since the server last sent anything for this resource; 0 before the first list."""
        return max((feed.contact.silent_for for feed in self._feeds), default=0.0)

    @property
    def failure(self) -> Exception | None:
        """Why the last list or watch failed; None while a watch is open, or nothing has failed yet."""
        return next((failure for feed in self._feeds if (failure := feed.contact.failure) is not None), None)

    @property
    def is_started(self) -> bool:
        """Whether the informer runs, or has run."""
        return self._is_started()

    @property
    def is_stopped(self) -> bool:
        """Whether the informer has run and has ended. It cannot be run again."""
        return self._ended.is_set()

    async def wait_stopped(self) -> None:
        """Return once the informer has stopped; at once if it was never started."""
        if self._feeds:
            await self._ended.wait()

    def _is_started(self) -> bool:
        return bool(self._feeds)

    async def forget(self, is_unwanted: Callable[[T], bool]) -> None:
        """
        Remove objects that the lister-watcher leaves out from now on.

        Delete handlers are called with a tombstone, as for a deletion that no event reported.

        :param is_unwanted: whether to remove an object
        """
        key_of = self._indexer.key_of
        await self._feeds.forget([key_of(obj) for obj in self._indexer.list() if is_unwanted(obj)])

    # --- handlers

    def add_event_handler(
        self, handler: ResourceEventHandler[T], *, resync_period: float | None = None, since: str = ""
    ) -> ProcessorListener[T]:
        """
        Call `handler` for every change from now on, and first for every object that is in the cache.

        :param resync_period: seconds between resyncs of this handler; None for the informer's period, 0 for never. Once
            the informer runs, it cannot be shorter than the shortest period that was asked for before.
        :param since: the version up to which a handler was called in an earlier run of the program. Of the objects that
            are in the cache first, the handler is then called only for those that have changed since. It is called for
            all of them if the server has not reached this version, because it is another cluster or a restored one.
            It is never called for objects that were deleted in between.
        :return: the handler's registration. It says whether the handler was called for everything that was there at the
            start, and is the argument to remove the handler.
        :raises InformerStateError: if the informer has stopped
        :raises TypeError: if `handler` is no handler
        :raises RuntimeError: if the informer runs in another event loop
        """
        check_handler(handler, self.name)
        if self.is_stopped:
            raise InformerStateError(f"informer {self.name} has stopped: the handler {handler!r} was not added")
        self._check_loop()
        requested, effective = self._registrations.settle_resync_period(resync_period)
        listener = ProcessorListener(
            handler,
            informer_name=self.name,
            is_started=self._is_started,
            requested_resync_period=requested,
            resync_period=effective,
            cache_reaches=self._reaches,
            clock=self._clock,
            since=since,
        )
        self._registrations.add(listener)
        return listener

    def _changed_since(self, since: str) -> list[T]:
        """The objects that a handler is called for first, if it is added now."""
        if not self._feeds or self._is_filling:
            return []
        objects = self._indexer.list()
        # A cache from a snapshot may be older than `since`. Whether it is of this cluster was checked at the start.
        if not since or (not self._begun and is_older(self.last_sync_resource_version, than=since)):
            return objects
        version_of = self._accessor.resource_version
        # A version that cannot be compared counts as changed.
        return [it for it in objects if (own := version_of(it)) != since and not is_older(own, than=since)]

    def hold_handlers(self) -> None:
        """
        Do not call handlers that are added from now on, until :meth:`release_handlers`.

        For a process that follows the server and may not act yet, such as one that waits for a lease. Its cache is
        complete, and nothing is queued for handlers.
        """
        self._registrations.hold()

    def release_handlers(self) -> None:
        """Call the held handlers for everything, as if they were added now. Without held handlers, do nothing."""
        self._registrations.release()

    def remove_event_handler(self, registration: ProcessorListener[T]) -> None:
        """
        Do not call this handler again, not even for changes that are pending. A second removal has no effect.

        :raises RuntimeError: if the informer runs in another event loop
        """
        self._check_loop()
        self._registrations.remove(registration)

    async def shut_down_event_handler(self, registration: ProcessorListener[T]) -> None:
        """
        Remove a handler, and wait until its present call has ended. Then the things that it uses can be closed.

        The handler itself must not call this: it would wait for its own end.
        """
        self._registrations.remove(registration)
        await registration.wait_idle()

    def add_indexers(self, indexers: Indexers[T]) -> None:
        """
        Add index functions. The objects that are there are indexed at once.

        :raises InformerStateError: if the informer has stopped
        :raises IndexerConflict: if there is already an index with one of these names
        """
        if self.is_stopped:
            raise InformerStateError(f"informer {self.name} has stopped: the indexers were not added")
        self._indexer.add_indexers(indexers)

    def set_transform(self, transform: TransformFunc[T]) -> None:
        """
        Call `transform` with each object before it is stored.

        :raises InformerStateError: if the informer has been started
        """
        self._check_not_started()
        self._transform = transform

    def set_watch_error_handler(self, handler: WatchErrorHandler) -> None:
        """
        Call `handler` for each failure of a list or watch, instead of logging it.

        :raises InformerStateError: if the informer has been started
        """
        self._check_not_started()
        self._options = replace(self._options, watch_error_handler=handler)

    def decode_early(self, *fields: str) -> None:
        """
        Decode these fields of new objects as they arrive, because handlers or indexes read them of every object.

        See :attr:`InformerOptions.early <kinformer.cache.InformerOptions>`. It has no effect on an informer that has
        been started, or whose cache is compressed.
        """
        if not self._options.compress:
            self._options = replace(self._options, early=tuple(dict.fromkeys((*self._options.early, *fields))))

    def _check_loop(self) -> None:
        if self._loop is not None:
            check_loop(self._loop, f"informer {self.name}")

    def _check_not_started(self) -> None:
        if self._feeds:
            raise InformerStateError(f"informer {self.name} has already started")

    # --- running

    async def run(self) -> None:
        """
        Follow the server until cancelled.

        :raises InformerStateError: if the informer runs already, or has run
        :raises CacheMutatedError: if the mutation detector found a changed object
        """
        self._check_not_started()
        self._feeds.set(self._new_feed(namespace, source) for namespace, source in self._sources.items())
        self._loop = asyncio.get_running_loop()
        try:
            with warn_when_blocked():
                async with plain_task_group() as tasks:
                    self._processor.start(tasks)
                    if self._detector.enabled:
                        tasks.start_soon(self._detector.run, name=f"{self.name} mutation detector")
                    if self._compressor is not None:
                        tasks.start_soon(self._compressor.run, name=f"{self.name} compressor")
                    if self.state_source is not None:
                        await self._fill(self.state_source, tasks)
                    await self._feeds.run()
        finally:
            self._loop = None
            self._ended.set()
            self._synced.close()
            self._registrations.close()

    async def _fill(self, source: StateSource, tasks: TaskGroup) -> None:
        """Begin with a state instead of a list, if there is one."""
        self._is_filling = True
        try:
            state = await source(self)
            if state is None:
                return
            for part in state.parts:
                self._indexer.storage.add_new(part)
                if self._detector.enabled:
                    for obj in part.values():
                        self._detector.add_object(obj)
                await checkpoint()
            for feed in self._feeds:
                feed.controller.begin_at(state.versions[feed.namespace])
                self._begun.add(feed)
            self._processor.begin_with(self._indexer.list())
        finally:
            self._is_filling = False
        self._after_slice()
        tasks.start_soon(state.settle_all, name=f"{self.name} settles")

    def state(self) -> CacheState[T] | None:
        """
        The cache as it is now, for a later informer of the same objects to begin with.

        :return: None if the cache has no version of its own now: before the first list is complete, after the end, and
            while changes are being stored
        """
        if self.is_stopped or not self._synced.synced or not all(feed.is_settled for feed in self._feeds):
            return None
        objects = self._indexer.storage.copy()
        return CacheState([objects], {feed.namespace: feed.last_sync_resource_version for feed in self._feeds})

    def _new_feed(self, namespace: str, lister_watcher: ListerWatcher[T]) -> Feed[T]:
        """Make what follows one lister-watcher and fills the cache that all of them share."""
        alone = len(self._sources) == 1
        name = self.name if alone else f"{self.name} in {namespace}"
        storage = self._indexer.storage
        process = distributor(self._accessor, self._indexer, self._detector, self._processor, in_order=alone)
        is_due = self._processor.should_resync

        def reached(version: str) -> None:
            feed.store_resource_version = version
            storage.bookmark(self._feeds.store_resource_version)

        queue = self._new_queue(name, self._indexer if alone else InNamespace(self._indexer, namespace))
        reflector = Reflector(
            lister_watcher,
            self.type,
            queue,
            name=name,
            resync_period=self._registrations.check_period,
            should_resync=is_due if alone else lambda: self._feeds.should_resync(feed, is_due),
            expected_kind=self._expected_kind,
            known=storage,
            on_listed=None if self._compressor is None else self._compressor.compress,
            options=self._options,
            clock=self._clock,
        )
        controller = Controller(
            reflector,
            queue,
            process,
            reached=storage.bookmark if alone else reached,
            after_slice=self._after_slice,
            latency=processing_latency_of(name, self.resource),
        )
        feed = Feed(namespace, name, lister_watcher, self.resource, controller)
        track_informer(self if alone else feed)
        return feed

    def _new_queue(self, name: str, known: KeyListerGetter[T]) -> Queue[T]:
        if self._options.queue == "real":
            return RealFIFO(self._accessor, known, transformer=self._transform, name=name)
        return DeltaFIFO(self._accessor, known, emit_delta_type_replaced=True, transformer=self._transform, name=name)

    def _after_slice(self) -> None:
        if not self._synced.synced and self._feeds.has_synced:
            self._synced.sync()
            self._processor.distribute((SYNCED, None, None))
            self._registrations.resume()
            handlers = [(listener.handler_name, listener.handler) for listener in self._processor]
            warn_of_discards(self.name, handlers, self._indexer.list(), self._accessor.labels)
        if self._may_relax_collector and len(self._indexer) >= LARGE:
            self._may_relax_collector = False
            relax()
        self._processor.wake()


def _by_namespace(given: ListerWatcher[T] | Mapping[str, ListerWatcher[T]]) -> dict[str, ListerWatcher[T]]:
    if not isinstance(given, Mapping):
        return {getattr(given, "namespace", ""): given}
    if not given:
        raise ValueError("an informer needs a lister-watcher: there is none")
    if len(given) > 1 and "" in given:
        raise ValueError("an informer of all namespaces needs no other lister-watcher: want only the one of ''")
    return dict(given)
