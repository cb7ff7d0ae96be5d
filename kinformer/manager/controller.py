"""Controller: the parts that every controller needs, so that writing one takes a function and a few lines of wiring.

A controller watches objects through informers. Each change adds a key to a work queue, and workers call ``sync(key)``.
Sync compares the actual state with the desired state and reduces the difference::

    configmaps = informers.informer_for(V1ConfigMap)

    async def sync(key: str) -> None:
        configmap = configmaps.indexer.get_by_key(key)
        print(key, "is gone" if configmap is None else "is there")

    controller = Controller("configmap-printer", sync).watch(configmaps)
    await controller.run()

A controller guarantees:

- A key is never synced by two workers at a time. If an object changes during the sync of its key, the key is synced
  again.
- A sync that raises is tried again, with a growing delay. If it failed because the server could not be reached, it is
  tried again as soon as the server is back.
- No sync starts before every watched informer has its first list in the cache. Event handlers of
  :meth:`Controller.handle` have been called for that list by then, so they may keep state of their own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol, TypedDict, TypeVar

import anyio
from anyio.abc import TaskGroup

from kinformer.arguments import want_count, want_function, want_seconds, want_several, want_text
from kinformer.blocking import warn_when_blocked
from kinformer.cache import ResourceEventHandler, SharedIndexInformer
from kinformer.cache.division import KeyGate, KeyShard, OwnUid
from kinformer.cache.handlers import check_handler
from kinformer.cancellation import is_stray
from kinformer.client.writes import noting_writes
from kinformer.clock import Clock, RealClock, move_on_after
from kinformer.logs import get_logger
from kinformer.manager.activity import Activity
from kinformer.manager.history import History, NotedQueue, Source
from kinformer.manager.key_syncs import KeySyncs
from kinformer.manager.metrics import ControllerMetrics
from kinformer.manager.own_writes import OwnWrites
from kinformer.manager.predicates import Predicate
from kinformer.manager.sources import EnqueueKeys, KeysOf, own_key, owner_keys
from kinformer.manager.syncs import (
    NotAsync,
    Sync,
    SyncError,
    check_limits,
    check_sync,
)
from kinformer.meta import GroupKind, GroupResource, GroupVersionKind
from kinformer.models import resource_for
from kinformer.sharding.hashing import text_of_key
from kinformer.tasks import plain_task_group
from kinformer.workqueue import RateLimiter, ShutDown

__all__ = ("Controller", "ControllerOptions", "NotAsync", "Sync", "SyncError")

T = TypeVar("T")

log = get_logger(__name__)


class _Registration(Protocol):
    """Something that a controller waits for before its first sync."""

    async def wait_synced(self) -> None: ...


class _CaughtUp:
    """A registration that is synced once another controller has caught up."""

    def __init__(self, controller: Controller) -> None:
        self._controller = controller

    async def wait_synced(self) -> None:
        await self._controller.caught_up.wait()


class ControllerOptions(TypedDict, total=False):
    """The optional arguments of :class:`Controller`, for code that passes them on."""

    workers: int
    queue_name: str
    limiter: RateLimiter[str] | None
    limits: Mapping[type[BaseException], RateLimiter[str]] | None
    prioritize: bool
    sync_timeout: float | None
    consistent: bool
    on_stale: Callable[[GroupResource], object] | None
    starts_after: Collection[str]
    shard_by: Callable[[str], str] | None
    shard_by_owner: Callable[[str], KeyShard | None] | None


# More than 15 fields: it joins sources, queue and workers, and the start and end of a run concern all three.
class Controller:
    """
    Event sources, a queue and workers around a `sync` function.

    :param name: the name in logs and metrics
    :param sync: called with a key. It returns None when it is done, or the time (seconds or a timedelta) after which
        the key is to be synced again. Zero counts as None. A negative number or NaN is logged as an error. If it
        raises, the key is synced again after the delay of the rate limiter
    :param workers: how many keys are synced at a time
    :param queue_name: the name of the queue in metrics; `name` if empty
    :param limiter: the delay of a key whose sync failed; client-go's default limiter if None
    :param limits: limiters for some classes of errors. The first class in the error's method resolution order that has
        a limiter counts; all other errors use `limiter`
    :param prioritize: keys from the first list and from resyncs wait behind all other keys. False: keys come in the
        order in which they were added
    :param sync_timeout: seconds after which a sync is cancelled and counts as failed. None: there is no limit
    :param consistent: a key is not synced before the caches of the watched informers, and of those of
        :meth:`wait_for`, show what its last sync wrote. After five minutes it is synced anyway
    :param on_stale: called with the resource of the cache that is behind, each time when a sync is put off by this
    :param starts_after: the names of controllers of the same manager. No sync starts before each of these controllers,
        if it runs, has synced every key of its first lists once
    :param shard_by: returns the text that decides which shard a key belongs to, where several processes share the keys.
        The default is the key's namespace, or the key itself if it has none. None: every process syncs every key, which
        is right for a sync that writes nothing
    :param shard_by_owner: the same for processes that divide namespaces by owner (``--shard-by owner``); None for a key
        that is not synced here. :class:`~kinformer.cache.division.OwnUid` is right for a sync that reads one object and
        those that it controls or could adopt, and does nothing if the object is gone
    :raises ValueError: if `workers` or `sync_timeout` is too small
    :raises NotAsync: if `sync` is a plain function
    """

    def __init__(
        self,
        name: str,
        sync: Sync,
        *,
        workers: int = 1,
        queue_name: str = "",
        limiter: RateLimiter[str] | None = None,
        limits: Mapping[type[BaseException], RateLimiter[str]] | None = None,
        prioritize: bool = True,
        sync_timeout: float | None = None,
        consistent: bool = False,
        on_stale: Callable[[GroupResource], object] | None = None,
        starts_after: Collection[str] = (),
        shard_by: Callable[[str], str] | None = text_of_key,
        shard_by_owner: Callable[[str], KeyShard | None] | None = None,
        clock: Clock | None = None,
    ) -> None:
        want_text(name, "the name of a controller", "a text: the arguments are (name, sync)")
        want_count(workers, f"workers of controller {name}")
        if workers < 1:
            raise ValueError(f"controller {name} has {workers} workers: want at least 1")
        if sync_timeout is not None:
            want_seconds(sync_timeout, f"sync_timeout of controller {name}")
            if sync_timeout <= 0:
                raise ValueError(
                    f"controller {name} has a sync_timeout of {sync_timeout:g} s: want more than 0, or None"
                )
        check_sync(name, sync)
        check_limits(name, limits)
        for given, what in ((on_stale, "on_stale"), (shard_by, "shard_by"), (shard_by_owner, "shard_by_owner")):
            if given is not None:
                want_function(given, 1, f"{what} of controller {name}", "a plain function of one argument, or None")
        want_several(starts_after, f"starts_after of controller {name}", "a list of names, as in ['web']")
        self.name = name
        #: The names of the controllers that it waits for.
        self.starts_after = tuple(starts_after)
        self.workers = workers
        self._clock = clock or RealClock()
        #: Why keys were synced, and the results of these syncs.
        self.history = History(self._clock)
        #: Other code may add keys as well: ``controller.queue.add(key)``.
        self.queue = NotedQueue(
            queue_name or name,
            self.history,
            limiter=limiter,
            clock=self._clock,
            prioritize=prioritize,
        )
        self._own_writes = OwnWrites(self._caches, self.queue.add, self._clock, on_stale) if consistent else None
        metrics = ControllerMetrics(name, workers, self.history)
        self._syncs = KeySyncs(
            name, sync, self.queue, self.history, metrics, limits=limits, timeout=sync_timeout, clock=self._clock
        )
        #: The class of the :class:`~kinformer.operator.Reconciler` that made it, None if none did.
        self.reconciler: type[Any] | None = None
        #: What it does beside its syncs: the daemons of a :class:`~kinformer.operator.Reconciler`.
        self.activities: list[Activity] = []
        self._registrations: list[_Registration] = []
        self._awaited: list[Controller] = []
        #: The event handlers. Once all of them are synced, the keys of the first lists are in the queue.
        self._told: list[_Registration] = []
        self._later = self.queue.add_slowly if prioritize else self.queue.add
        self._informers: list[SharedIndexInformer[Any]] = []
        self._shard_by = shard_by
        self._shard_by_owner = shard_by_owner
        self._gate: KeyGate | None = None
        #: Further informers, which syncs only read.
        self._read: list[SharedIndexInformer[Any]] = []
        self._log = log.bind(controller=name)
        self._has_run = False
        self._has_synced = False
        self._draining = False
        #: Ends the wait for the caches, and later the syncs. None until :meth:`run` is called.
        self._scope: anyio.CancelScope | None = None
        #: Where the workers run. None until they start.
        self._tasks: TaskGroup | None = None
        #: Set when no sync runs any more. None until :meth:`drain` waits for that.
        self._idle: anyio.Event | None = None
        self._running: set[str] = set()
        #: Set once the caches are complete and the workers have started.
        self.started = anyio.Event()
        self._ended = anyio.Event()
        #: Set once every key of the first lists was synced once, with or without success.
        self.caught_up = anyio.Event()
        self._handlers_synced = False

    @property
    def has_synced(self) -> bool:
        """Whether the caches are complete and the workers run."""
        return self._has_synced

    @property
    def is_consistent(self) -> bool:
        """Whether a key waits until the caches show what its last sync wrote."""
        return self._own_writes is not None

    @property
    def can_be_sharded(self) -> bool:
        """Whether several processes can share its keys. A controller without event sources has no keys to share."""
        return bool(self._informers)

    @property
    def owner_types(self) -> frozenset[type[Any]] | None:
        """The types of its objects that own others; None if it cannot divide a namespace by owner."""
        if self._shard_by is None:
            return frozenset()
        by = self._shard_by_owner
        return None if by is None else frozenset({by.type} if isinstance(by, OwnUid) else ())

    @property
    def late(self) -> list[SharedIndexInformer[Any]]:
        """The informers that it waits for because they do not have their first list yet."""
        return [informer for informer in (*self._informers, *self._read) if not getattr(informer, "has_synced", True)]

    @property
    def is_ready(self) -> bool:
        """Whether the workers run and every watched informer follows the server."""
        return self._has_synced and all(getattr(informer, "is_following", True) for informer in self._informers)

    def wrap_sync(self, wrap: Callable[[Sync], Sync]) -> None:
        """Wrap the sync function, for example in a span. Call this before :meth:`run`."""
        self._syncs.sync = wrap(self._syncs.sync)

    def watch(self, informer: SharedIndexInformer[Any], *predicates: Predicate) -> Controller:
        """Add the key of each object of the informer that changes."""
        return self.watch_mapped(informer, own_key, *predicates)

    def watch_owned(
        self,
        informer: SharedIndexInformer[Any],
        owner: type[Any] | GroupKind | GroupVersionKind,
        *predicates: Predicate,
        namespaced: bool = True,
    ) -> Controller:
        """
        Add the key of the controlling owner of each object of the informer that changes.

        :param owner: the kind of the owner, as a model or by name. Objects with an owner of another kind are ignored
        :param namespaced: whether the owners have a namespace. This counts only if `owner` is given by name
        :raises TypeError: if `owner` is a type and not a known model
        """
        if isinstance(owner, GroupVersionKind):
            owner = owner.group_kind
        if isinstance(owner, GroupKind):
            return self.watch_mapped(informer, owner_keys(owner, namespaced=namespaced), *predicates)
        try:
            resource = resource_for(owner)
        except (LookupError, TypeError) as error:
            what = owner.__qualname__ if isinstance(owner, type) else repr(owner)
            raise TypeError(
                f"controller {self.name} cannot tell the kind of {what}: "
                'give watch_owned() a model, or the kind by name, such as GroupKind("example.com", "WebApp")'
            ) from error
        keys_of = owner_keys(resource.gvk.group_kind, namespaced=resource.namespaced)
        return self.watch_mapped(informer, keys_of, *predicates)

    def watch_mapped(self, informer: SharedIndexInformer[Any], keys_of: KeysOf, *predicates: Predicate) -> Controller:
        """
        Add the keys that `keys_of` returns for each object of the informer that changes.

        :param keys_of: returns a list of keys. A string or None in its place is logged once with the function's name,
            and adds no key
        :raises TypeError: if `keys_of` cannot be called, or is async
        """
        told = self._listen(informer, EnqueueKeys(self.queue.add, keys_of, predicates, later=self._later))
        self._told.append(told)
        # This handler has no state, so syncs need not wait until it was called for every object of the first list.
        # They wait for the cache only, as in kube-controller-manager.
        self._registrations.append(informer)
        return self

    def handle(self, informer: SharedIndexInformer[T], handler: ResourceEventHandler[T]) -> Controller:
        """Call an event handler for each change. No sync starts before it was called for the whole first list."""
        told = self._listen(informer, handler)
        self._told.append(told)
        self._registrations.append(told)
        return self

    def _listen(self, informer: SharedIndexInformer[T], handler: ResourceEventHandler[T]) -> _Registration:
        if not hasattr(informer, "add_event_handler") or isinstance(informer, type):
            raise TypeError(
                f"controller {self.name} cannot watch {informer!r}: "
                "want an informer, such as informers.informer_for(V1Pod)"
            )
        name = getattr(informer, "name", "")
        check_handler(handler, name)
        self._informers.append(informer)
        self._gate = self._gate or getattr(informer, "key_gate", None)
        return informer.add_event_handler(Source(name, handler))

    def wait_for(self, informer: SharedIndexInformer[Any]) -> Controller:
        """Start no sync before this informer has its first list. For caches that a sync reads and does not watch."""
        self._registrations.append(informer)
        self._read.append(informer)
        self._gate = self._gate or getattr(informer, "key_gate", None)
        return self

    def wait_for_controller(self, other: Controller) -> Controller:
        """Start no sync before another controller has synced every key of its first lists once."""
        self._registrations.append(_CaughtUp(other))
        self._awaited.append(other)
        return self

    @property
    def awaited(self) -> list[str]:
        """The names of the controllers that it still waits for."""
        return [other.name for other in self._awaited if not other.caught_up.is_set()]

    async def run(self) -> None:
        """
        Run until cancelled, or until :meth:`drain` ends it. Keys that are queued at the end are dropped.

        Cancelling also cancels the syncs that are running. This method does not start the informers. If an informer is
        not started within some seconds, a warning is logged.

        :raises InformerStateError: if an informer stopped before it had synced
        :raises RuntimeError: if it was called before
        """
        if self._has_run:
            raise RuntimeError(f"controller {self.name} has run already: make a new one")
        self._has_run = True
        try:
            with anyio.CancelScope() as self._scope:
                if not self._draining:
                    await self._run()
        finally:
            self._has_synced = False
            self.queue.shut_down()
            if self._own_writes is not None:
                self._own_writes.close()
            self._ended.set()
            self._log.info("controller_stopped")

    def start_soon(
        self, function: Callable[..., Coroutine[Any, Any, object]], *arguments: Any, name: str | None = None
    ) -> None:
        """
        Start a task beside the workers, from a sync. It is cancelled when :meth:`run` ends.

        An exception that leaves the task ends the controller.

        :param name: the name of the task, for debugging
        :raises RuntimeError: if the workers do not run
        """
        if self._tasks is None:
            raise RuntimeError(f"controller {self.name} does not run: start tasks from its syncs")
        self._tasks.start_soon(function, *arguments, name=name)

    async def drain(self, grace: float | None = None) -> tuple[str, ...]:
        """
        Hand out no more keys, wait until the running syncs have ended, and make :meth:`run` return.

        A sync must not call this: it would wait for itself. It may be called more than once.

        :param grace: seconds after which syncs that still run are cancelled. None: they are never cancelled
        :return: the keys whose syncs were cancelled
        """
        self._draining = True
        self.queue.shut_down_now()
        cut: tuple[str, ...] = ()
        if self._running:
            self._log.info("controller_draining", running=len(self._running))
            if not await self._until_idle(grace):
                cut = tuple(sorted(self._running))
                self._log.warning("syncs_cut", keys=cut, grace=grace)
        if self._scope is not None:
            # No sync runs any more, or the grace period has passed, or run() still waits for the caches.
            self._scope.cancel()
            await self._ended.wait()
        return cut

    async def _until_idle(self, seconds: float | None) -> bool:
        """
        Wait until no sync runs.

        :param seconds: how long to wait at most; None: for ever
        :return: whether no sync runs
        """
        if self._idle is None:
            self._idle = anyio.Event()
        with move_on_after(self._clock, seconds):
            await self._idle.wait()
        return not self._running

    async def _run(self) -> None:
        self._log.debug("controller_starting")
        for registration in self._registrations:
            await registration.wait_synced()
        if late := [it for it in (*self._informers, *self._read) if getattr(it, "has_to_catch_up", False)]:
            # All at once, because each takes a second if nothing has changed since its snapshot.
            async with plain_task_group() as tasks:
                for informer in late:
                    tasks.start_soon(informer.catch_up)
        self._has_synced = True
        self.started.set()
        self._log.info("controller_started", workers=self.workers)
        with warn_when_blocked():
            async with anyio.create_task_group() as self._tasks:
                tasks = self._tasks
                tasks.start_soon(self._catch_up, name=f"first pass of controller {self.name}")
                for _ in range(self.workers):
                    tasks.start_soon(self._work, name=f"worker of controller {self.name}")

    async def _catch_up(self) -> None:
        for told in self._told:
            await told.wait_synced()
        self._handlers_synced = True
        self._check_caught_up()

    def _check_caught_up(self) -> None:
        if self._handlers_synced and not self._running and not len(self.queue):
            self.caught_up.set()

    async def _work(self) -> None:
        own = self._own_writes
        while True:
            try:
                key = await self.queue.get()
            except ShutDown:
                return
            except BaseException as error:
                # The last sync has cancelled its own task, and has ended before the cancellation was delivered.
                if not is_stray(error):
                    raise
                continue
            self._running.add(key)
            try:
                with self._entered(key) as may_sync:
                    if not may_sync:
                        self._syncs.forget(key)
                    elif own is None:
                        await self._syncs.run(key)
                    elif own.must_wait(key):
                        self.history.dropped(key)
                    else:
                        with noting_writes() as writes:
                            try:
                                await self._syncs.run(key)
                            finally:
                                own.remember(key, writes)
            finally:
                self.queue.done(key)
                self._running.discard(key)
                if not self._running and self._idle is not None:
                    self._idle.set()
            # This comes after `done`: a key that was added during its sync is in the queue again by now.
            if not self.caught_up.is_set():
                self._check_caught_up()

    def _entered(self, key: str) -> AbstractContextManager[bool]:
        """A context that says whether this process may sync a key now, and keeps that true until it is left."""
        if self._gate is None or self._shard_by is None:
            return nullcontext(True)
        if self._gate.by_owner and self._shard_by_owner is not None:
            shard = self._shard_by_owner(key)
        else:
            text = self._shard_by(key)
            shard = KeyShard(text, held_by_all=text == key)
        if shard is None:
            return nullcontext(False)
        again = functools.partial(self.queue.add, key)
        return self._gate.entered(shard.text, (self.name, key), again, held_by_all=shard.held_by_all)

    def _caches(self) -> Iterable[SharedIndexInformer[Any]]:
        return dict.fromkeys((*self._informers, *self._read))
