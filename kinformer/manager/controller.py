"""Controller: what every controller is made of, so that one's own is a function and a line of wiring.

A controller watches objects through informers. Each change becomes a key in a work queue, and workers call
``sync(key)`` with it. Sync looks at what is there and at what should be, and does something about the difference::

    configmaps = informers.informer_for(V1ConfigMap)

    async def sync(key: str) -> None:
        configmap = configmaps.indexer.get_by_key(key)
        print(key, "is gone" if configmap is None else "is there")

    controller = Controller("configmap-printer", sync).watch(configmaps)
    await controller.run()

What is promised: a key is never synced twice at a time; a change during its sync has it synced once more; a sync that
raises, whatever it raises, is tried again, later each time, and at once when it failed for a server that was gone and
is back; no sync starts before every informer that is watched has its first list in the cache. Handlers of one's own
(:meth:`Controller.handle`) may remember what they are told, and have been told of that list as well by then.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol, TypeVar

import anyio

from kinformer.blocking import warn_when_blocked
from kinformer.cache import ResourceEventHandler, SharedIndexInformer
from kinformer.cache.division import KeyGate
from kinformer.cancellation import ends_worker, is_stray
from kinformer.client.errors import Conflict, ServerUnreachable
from kinformer.clock import Clock, RealClock
from kinformer.logs import get_logger
from kinformer.manager.history import History, NotedQueue, Source
from kinformer.manager.lanes import Lanes
from kinformer.manager.metrics import ControllerMetrics
from kinformer.manager.own_writes import OwnWrites
from kinformer.manager.predicates import Predicate
from kinformer.manager.sources import EnqueueKeys, KeysOf, own_key, owner_keys
from kinformer.manager.syncs import (
    AnswerError,
    NotAsync,
    Sync,
    SyncError,
    SyncTimeout,
    TerminalError,
    check_async,
    error_text,
    is_of_the_world,
    seconds_of,
)
from kinformer.meta import GroupKind, GroupVersionKind
from kinformer.models import resource_for
from kinformer.sharding.hashing import text_of_key
from kinformer.workqueue import RateLimiter, ShutDown

__all__ = ("Controller", "NotAsync", "Sync", "SyncError")

T = TypeVar("T")

log = get_logger(__name__)


class _Registration(Protocol):
    async def wait_synced(self) -> None: ...


class _CaughtUp:
    """Is synced once a controller has caught up."""

    def __init__(self, controller: Controller) -> None:
        self._controller = controller

    async def wait_synced(self) -> None:
        await self._controller.caught_up.wait()


class Controller:
    """
    Event sources, a queue and workers around a `sync` function.

    :param name: what its log lines and metrics call it
    :param sync: called with a key. Returns None when all is done, or seconds (or a timedelta) after which the key is
        to be synced again; raises when it could not be done, and is then called again when the rate limiter says so
    :param workers: how many keys are synced at once
    :param queue_name: what the queue's metrics call it, if not `name`
    :param limiter: how long a key that failed has to wait; client-go's default if None
    :param limits: for kinds of errors, how long a key that failed so has to wait: that of the class that comes first
        in the error's own order of classes; `limiter` for all others
    :param prioritize: have keys of the first list and of resyncs wait behind all others
    :param sync_timeout: seconds after which a sync is cancelled and counts as failed; None: never
    :param consistent: do not sync a key before the caches that it watches show what its last sync wrote. A cache that
        does not come to it within 10 seconds is taken at its word
    :param starts_after: the names of controllers of the same manager: no sync starts before each of those that run has
        synced everything that its first lists brought, once
    :param shard_by: where processes share the keys out between them, what a key's shard is told by: its namespace, or
        the whole of a key that has none, if this is not given. None: every process syncs every key, for a sync that
        writes nothing
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
        prioritize: bool = False,
        sync_timeout: float | None = None,
        consistent: bool = False,
        starts_after: Collection[str] = (),
        shard_by: Callable[[str], str] | None = text_of_key,
        clock: Clock | None = None,
    ) -> None:
        if workers < 1:
            raise ValueError(f"controller {name} has {workers} workers: want at least 1")
        if sync_timeout is not None and sync_timeout <= 0:
            raise ValueError(f"controller {name} has a sync_timeout of {sync_timeout:g} s: want more than 0, or None")
        check_async(name, sync)
        self.name = name
        #: The controllers that it waits for, by their names.
        self.starts_after = tuple(starts_after)
        self.workers = workers
        self._clock = clock or RealClock()
        #: Why keys were synced, and how that ended.
        self.history = History(self._clock)
        #: For what the event sources below cannot say: ``controller.queue.add(key)``.
        self.queue = NotedQueue(
            queue_name or name,
            self.history,
            limiter=limiter,
            clock=self._clock,
            lanes=Lanes() if prioritize else None,
        )
        self._sync = sync
        self._limits = dict(limits or {})
        self._timeout = sync_timeout
        self._own_writes = OwnWrites(self._clock) if consistent else None
        self._metrics = ControllerMetrics(name, workers)
        self._registrations: list[_Registration] = []
        self._awaited: list[Controller] = []
        #: The handlers: what the first lists brought is in the queue once they have all been told.
        self._told: list[_Registration] = []
        self._later = self.queue.add_slowly if prioritize else self.queue.add
        self._informers: list[SharedIndexInformer[Any]] = []
        self._shard_by = shard_by
        self._gate: KeyGate | None = None
        #: Those besides that syncs read alone.
        self._read: list[SharedIndexInformer[Any]] = []
        self._log = log.bind(controller=name)
        self._has_run = False
        self._has_synced = False
        self._draining = False
        #: Ends the wait for caches, and later the syncs; there while it runs.
        self._scope: anyio.CancelScope | None = None
        #: Set when the last sync that runs has ended, while somebody waits for that.
        self._idle: anyio.Event | None = None
        self._running: set[str] = set()
        #: Set once caches are complete and the workers have started.
        self.started = anyio.Event()
        self._ended = anyio.Event()
        #: Set once everything that the first lists brought was synced once, well or not.
        self.caught_up = anyio.Event()
        self._was_told = False
        self._refused_answers: set[str] = set()

    @property
    def has_synced(self) -> bool:
        """Whether the caches were complete and the workers have started."""
        return self._has_synced

    @property
    def can_be_sharded(self) -> bool:
        """Whether several processes can share its keys out: not without event sources, with one key for everything."""
        return bool(self._informers)

    @property
    def late(self) -> list[SharedIndexInformer[Any]]:
        """The informers that have no first list yet, for which it waits."""
        return [informer for informer in (*self._informers, *self._read) if not getattr(informer, "has_synced", True)]

    @property
    def is_ready(self) -> bool:
        """Whether it syncs, and every informer that it watches follows the server."""
        return self._has_synced and all(getattr(informer, "is_following", True) for informer in self._informers)

    def wrap_sync(self, wrap: Callable[[Sync], Sync]) -> None:
        """Have something else around each sync, such as a span; to be called before it runs."""
        self._sync = wrap(self._sync)

    def watch(self, informer: SharedIndexInformer[Any], *predicates: Predicate) -> Controller:
        """Sync the informer's objects themselves: each change of one adds its key."""
        return self.watch_mapped(informer, own_key, *predicates)

    def watch_owned(
        self,
        informer: SharedIndexInformer[Any],
        owner: type[Any] | GroupKind | GroupVersionKind,
        *predicates: Predicate,
        namespaced: bool = True,
    ) -> Controller:
        """
        Sync the controllers of the informer's objects: each change of one adds the key of its controller reference.

        :param owner: the kind of controller, as a model or by name; objects that another kind controls are ignored
        :param namespaced: whether objects of a kind that is given by name belong to namespaces
        :raises TypeError: if `owner` is a type of which it is not known what kind it is
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
        """Sync whatever `keys_of` says: each change of an object adds the keys that it gives for it."""
        told = self._listen(informer, EnqueueKeys(self.queue.add, keys_of, predicates, later=self._later))
        self._told.append(told)
        # It remembers nothing but keys. So the first of them are synced while those of thousands of other objects are
        # still on their way to the queue; kube-controller-manager waits for the caches alone, too.
        self._registrations.append(informer)
        return self

    def handle(self, informer: SharedIndexInformer[T], handler: ResourceEventHandler[T]) -> Controller:
        """Have a handler of one's own told of each change. No sync starts before it was told of the first list."""
        told = self._listen(informer, handler)
        self._told.append(told)
        self._registrations.append(told)
        return self

    def _listen(self, informer: SharedIndexInformer[T], handler: ResourceEventHandler[T]) -> _Registration:
        self._informers.append(informer)
        self._gate = self._gate or getattr(informer, "key_gate", None)
        return informer.add_event_handler(Source(getattr(informer, "name", ""), handler))

    def wait_for(self, informer: SharedIndexInformer[Any]) -> Controller:
        """Have no sync start before this informer has its first list. For caches that a sync only reads."""
        self._registrations.append(informer)
        self._read.append(informer)
        return self

    def wait_for_controller(self, other: Controller) -> Controller:
        """Have no sync start before another controller has synced everything that its first lists brought, once."""
        self._registrations.append(_CaughtUp(other))
        self._awaited.append(other)
        return self

    @property
    def awaited(self) -> list[str]:
        """The names of the controllers that it still waits for."""
        return [other.name for other in self._awaited if not other.caught_up.is_set()]

    async def run(self) -> None:
        """
        Work until cancelled, or until :meth:`drain` has ended it. Runs once: what is queued at the end is dropped.

        When it is cancelled, syncs that are under way are cancelled. The informers are started by whoever made them.
        While one is not, for some seconds, the log says so.

        :raises InformerStateError: if an informer stopped before it had synced
        :raises RuntimeError: if it runs already, or has run
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
            self._ended.set()
            self._log.info("controller_stopped")

    async def drain(self, grace: float | None = None) -> tuple[str, ...]:
        """
        Hand out no more keys, wait for the syncs that run, and have :meth:`run` return.

        Not to be called by a sync, which would wait for itself. Calling it twice does no harm.

        :param grace: seconds after which syncs that still run are cancelled; None: never
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
            # Nothing runs any more, or it has had its time; else it still waits for its caches.
            self._scope.cancel()
            await self._ended.wait()
        return cut

    async def _until_idle(self, seconds: float | None) -> bool:
        """Wait until no sync runs, for so long at most."""
        if self._idle is None:
            self._idle = anyio.Event()
        with anyio.CancelScope() as waiting:
            timer = self._clock.call_later(seconds, waiting.cancel) if seconds is not None else None
            try:
                await self._idle.wait()
            finally:
                if timer is not None:
                    timer.cancel()
        return not self._running

    async def _run(self) -> None:
        self._log.debug("controller_starting")
        for registration in self._registrations:
            await registration.wait_synced()
        self._has_synced = True
        self.started.set()
        self._log.info("controller_started", workers=self.workers)
        with warn_when_blocked():
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._catch_up, name=f"first pass of controller {self.name}")
                for _ in range(self.workers):
                    tasks.start_soon(self._work, name=f"worker of controller {self.name}")

    async def _catch_up(self) -> None:
        for told in self._told:
            await told.wait_synced()
        self._was_told = True
        self._look_whether_caught_up()

    def _look_whether_caught_up(self) -> None:
        if self._was_told and not self._running and not len(self.queue):
            self.caught_up.set()

    async def _work(self) -> None:
        while True:
            try:
                key = await self.queue.get()
            except ShutDown:
                return
            except BaseException as error:
                # A sync that has cancelled its own task, and has ended before that came to anything.
                if not is_stray(error):
                    raise
                continue
            self._running.add(key)
            try:
                with self.queue.processing(key), self._entered(key) as may_sync:
                    if may_sync and (wait := self._is_behind(key)) is not None:
                        self.history.dropped(key)
                        self.queue.add_after(key, wait)
                    elif may_sync:
                        with self._metrics.active.track_inprogress(), self._noting(key):
                            await self._sync_key(key)
                    else:
                        self._forget(key)
            finally:
                self._running.discard(key)
                if not self._running and self._idle is not None:
                    self._idle.set()
            # After the key is done: one that was added meanwhile is in the queue again.
            if not self.caught_up.is_set():
                self._look_whether_caught_up()

    def _entered(self, key: str) -> AbstractContextManager[bool]:
        """Whether this process may sync a key now."""
        if self._gate is None or self._shard_by is None:
            return nullcontext(True)
        text, again = self._shard_by(key), functools.partial(self.queue.add, key)
        return self._gate.entered(text, (self.name, key), again, held_by_all=text == key)

    def _is_behind(self, key: str) -> float | None:
        """Seconds until a key is looked at again whose last writes the caches do not show; None if they do."""
        if self._own_writes is None:
            return None
        return self._own_writes.wait(key, (*self._informers, *self._read))

    def _noting(self, key: str) -> AbstractContextManager[None]:
        """Where the writes of a sync are noted, if they are."""
        return nullcontext() if self._own_writes is None else self._own_writes.noted(key)

    def _again(self, key: str) -> None:
        """Sync a key now: what it failed for is over, and was not its fault."""
        self._forget(key)
        self.queue.add(key)

    def _retry(self, key: str, error: BaseException) -> None:
        """Sync a key again, when the limiter of this kind of error says so."""
        for class_ in type(error).__mro__ if self._limits else ():
            if (limiter := self._limits.get(class_)) is not None:
                self.queue.add_after(key, limiter.when(key))
                return
        self.queue.add_rate_limited(key)

    def _forget(self, key: str) -> None:
        """The next failure of a key is its first."""
        self.queue.forget(key)
        for limiter in self._limits.values():
            limiter.forget(key)

    async def _in_time(self, answer: Awaitable[T], seconds: float) -> T:
        """
        :raises SyncTimeout: if it takes longer
        """
        with anyio.CancelScope() as scope:
            timer = self._clock.call_later(seconds, scope.cancel)
            try:
                return await answer
            finally:
                timer.cancel()
        self._metrics.timeouts.inc()
        raise SyncTimeout(seconds)

    async def _sync_key(self, key: str) -> None:
        failure = ""
        try:
            answer: Any = self._sync(key)
            if not inspect.isawaitable(answer):
                raise NotAsync(self.name, self._sync)
            after = await (answer if self._timeout is None else self._in_time(answer, self._timeout))
        except Conflict as error:
            # Somebody else wrote first, which optimistic locking is for: nothing has gone wrong, nothing is to be done.
            self._metrics.sync_failed()
            failure = error_text(error)
            self._log.debug("sync_conflicted", key=key, error=failure)
            self._retry(key, error)
        except TerminalError as error:
            self._metrics.sync_failed()
            self._metrics.terminal.inc()
            failure = error_text(error)
            self._log.error("sync_failed_for_good", key=key, error=failure)
            self._forget(key)
        except ServerUnreachable as error:
            self._metrics.sync_failed()
            told = error.reachability is not None  # once for everybody
            failure = error_text(error)
            (self._log.debug if told else self._log.error)("sync_failed", key=key, error=failure)
            self._retry(key, error)
            if error.reachability is not None:
                error.reachability.call_when_back((id(self), key), functools.partial(self._again, key))
        except BaseException as error:  # whatever a sync raises, the other keys are to be synced
            failure = error_text(error)
            if ends_worker(error):
                raise
            self._metrics.sync_failed()
            tell = self._log.error if is_of_the_world(error) else self._log.exception
            tell("sync_failed", key=key, error=failure)
            self._retry(key, error)
        else:
            self._forget(key)
            try:
                seconds = seconds_of(self.name, after)
            except AnswerError as error:
                # The sync itself has gone well: to call it again would do everything once more.
                seconds = None
                if error.what not in self._refused_answers:
                    self._refused_answers.add(error.what)
                    self._log.error("sync_answer_ignored", key=key, error=str(error))
            if seconds is None:
                self._metrics.succeeded.inc()
            else:
                self._metrics.requeued.inc()
                self.queue.add_after(key, seconds)
        finally:
            self._metrics.seconds.observe(self.history.ended(key, failure))
