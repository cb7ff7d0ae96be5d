"""History: what a controller remembers of its keys, so that somebody can ask why one was synced, and how that ended.

Two things flow in. A :class:`Source` stands before each event handler of the controller and notes what the handler is
being told. The queue reports each key that it takes in, hands out and gets back, as it reports to its metrics. A key
that is taken in while a handler is told of a change has that change for its *trigger*. At the end of a sync the
trigger, the times and the error become one :class:`Run`.

A change that finds its key in the queue already causes no further sync and is not noted.

What is remembered is bounded: the last :data:`RUNS` runs of :data:`KEYS` keys whose last sync went well, and of as many
whose last sync failed; the keys that were synced longest ago are forgotten first. That is about 2 MB for a controller
when both are full. Besides, each key in the queue has its trigger, some 200 bytes. No object is kept alive.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from contextvars import ContextVar
from heapq import nlargest
from itertools import islice
from typing import Any, Final, NamedTuple, TypeAlias

from kinformer.cache import DeletedFinalStateUnknown, ResourceEventHandler
from kinformer.clock import Clock
from kinformer.manager.lanes import Lanes
from kinformer.meta import accessor_of
from kinformer.workqueue import MetricsProvider, QueueMetrics, RateLimiter, RateLimitingQueue, default_provider
from kinformer.workqueue.waiting import Waiting

__all__ = ("KEYS", "RUNS", "SAMPLE", "History", "NotedQueue", "Run", "Source", "Trigger")

#: Keys of each sort, well and failing, that a history holds.
KEYS: Final = 500

#: Runs of each key that a history holds.
RUNS: Final = 4

#: Runs of whichever keys that a history holds besides, to tell times of.
SAMPLE: Final = 256

#: Characters of an error that are kept.
_LONGEST_ERROR: Final = 300

#: A :class:`Trigger` and a :class:`Run` as they are kept.
_Trigger: TypeAlias = tuple[float, str, str, str, str, str]
_Run: TypeAlias = tuple[_Trigger, float, float, str]


class Trigger(NamedTuple):
    """
    What put a key into the queue.

    :param at: the clock's monotonic time
    :param event: ``listed``, ``added``, ``updated``, ``deleted`` or ``resynced`` for a change that an informer told;
        ``retry`` after a failure, with the object that the sync was for that failed first; ``due`` for a delay that
        has passed; ``asked`` for anything else
    :param informer: who told of the change, empty if none did
    :param namespace: of the object that changed
    :param name: of the object that changed
    :param version: the object's resourceVersion
    """

    at: float
    event: str
    informer: str
    namespace: str
    name: str
    version: str


class Run(NamedTuple):
    """
    A sync that has ended.

    :param trigger: what it was for
    :param began: the clock's monotonic time
    :param seconds: how long it took
    :param error: why it failed, empty if it did not
    """

    trigger: Trigger
    began: float
    seconds: float
    error: str


class Source:
    """
    Stands before an event handler, and holds what that is being told.

    :param informer: the informer's name
    """

    __slots__ = ("__wrapped__", "_add", "_delete", "_event", "_informer", "_new", "_old", "_update")

    def __init__(self, informer: str, handler: ResourceEventHandler[Any]) -> None:
        #: The handler's own name is the one that metrics have.
        self.__wrapped__ = handler
        self._informer = informer
        self._add, self._update, self._delete = handler.on_add, handler.on_update, handler.on_delete
        self._event = ""
        self._old: Any = None
        self._new: Any = None

    # An informer calls each handler in a task of its own, and so in a context of its own: what is set there says who
    # is being told, also after an await of the handler. It is never taken back, as nothing else runs in that task.

    def on_add(self, obj: Any, is_in_initial_list: bool, /) -> object:
        self._event = "listed" if is_in_initial_list else "added"
        self._new = obj
        _telling.set(self)
        return self._add(obj, is_in_initial_list)

    def on_update(self, old: Any, new: Any, /) -> object:
        self._event = "updated"
        self._old = old
        self._new = new
        _telling.set(self)
        return self._update(old, new)

    def on_delete(self, obj: Any, /) -> object:
        self._event = "deleted"
        self._new = obj
        _telling.set(self)
        return self._delete(obj)

    def trigger(self, key: Hashable, at: float) -> _Trigger:
        """What is being told."""
        obj, event = self._new, self._event
        try:
            # Read by attribute, which takes a third of the time that an accessor does. The strings are those that the
            # object has anyway.
            meta = obj.metadata
            version = meta.resource_version
            if event == "updated" and self._old.metadata.resource_version == version:
                event = "resynced"
            return at, event, self._informer, meta.namespace, meta.name, version
        except AttributeError:  # a dict, a tombstone, or a Struct of somebody's own
            return at, event, self._informer, *_names_of(obj)


def _names_of(obj: Any) -> tuple[str, str, str]:
    """Namespace, name and version of any object; empty where it has none."""
    if isinstance(obj, DeletedFinalStateUnknown):
        if obj.obj is None:
            return "", obj.key, ""
        obj = obj.obj
    try:
        accessor = accessor_of(obj)
        return accessor.namespace(obj), accessor.name(obj), accessor.resource_version(obj)
    except (TypeError, AttributeError):  # a test's, or what a transformer has left
        return "", "", ""


_NEVER: Final[Any] = ()

#: Whose handler is being told in this task.
_telling: ContextVar[Source | _Delay | None] = ContextVar("telling", default=None)


class History:
    """
    The history of one controller's keys; it is told by the controller's queue, in place of the queue's metrics.

    :param provider: whom to pass on to what the queue reports; the default provider if None
    """

    def __init__(self, clock: Clock, provider: MetricsProvider | None = None) -> None:
        self._now = clock.monotonic
        self._provider = provider
        self._add: Callable[[Hashable], None] = _nothing
        self._get: Callable[[Hashable], None] = _nothing
        self._retry: Callable[[], None] | None = None
        #: Says to the metrics that a worker is done with a key.
        self.done: Callable[[Hashable], None] = _nothing
        # Plain tuples as long as nobody looks: they are made twice as fast as named ones.
        self._queued: dict[Hashable, _Trigger] = {}
        self._running: dict[Hashable, tuple[_Trigger, float]] = {}
        self._well: OrderedDict[Hashable, tuple[_Run, ...]] = OrderedDict()
        self._failing: OrderedDict[Hashable, tuple[_Run, ...]] = OrderedDict()
        self._last: deque[_Run] = deque(maxlen=SAMPLE)
        #: Keys that were taken in, syncs that have ended, those of them that failed, and delays that were asked for.
        self.adds = 0
        self.syncs = 0
        self.errors = 0
        self.retries = 0

    # --- what the queue reports

    def metrics_of(self, name: str, clock: Clock) -> QueueMetrics:
        """As :class:`~kinformer.workqueue.MetricsProvider` has it; for one queue."""
        metrics = (self._provider or default_provider()).metrics_of(name, clock)
        if metrics is not None:
            self._add, self._get, self._retry, self.done = metrics.add, metrics.get, metrics.retry, metrics.done
        return self

    def add(self, key: Hashable) -> None:
        now = self._now()
        self.adds += 1
        source = _telling.get()
        self._queued[key] = _asked(now) if source is None else source.trigger(key, now)
        self._add(key)

    def get(self, key: Hashable) -> None:
        now = self._now()
        self._running[key] = self._queued.pop(key, _NEVER) or _asked(now), now
        self._get(key)

    def retry(self) -> None:
        self.retries += 1
        if self._retry is not None:
            self._retry()

    # --- what the controller reports

    def ended(self, key: Hashable, error: str = "") -> float:
        """
        The sync of a key that the queue has handed out is over.

        :param error: why it failed, empty if it did not
        :return: how many seconds it took
        """
        now = self._now()
        trigger, began = self._running.pop(key, _NEVER) or (_asked(now), now)
        well, failing = self._well, self._failing
        before = well.pop(key, ())
        if failing and not before:
            before = failing.pop(key, ())
        run = trigger, began, now - began, error[:_LONGEST_ERROR]
        self.syncs += 1
        self._last.append(run)
        if error:
            self.errors += 1
            well = failing
        well[key] = (run, *before[: RUNS - 1])
        if len(well) > KEYS:
            well.popitem(last=False)
        return now - began

    def dropped(self, key: Hashable) -> None:
        """A key that the queue has handed out is not synced."""
        self._running.pop(key, None)

    # --- what there is to know

    def runs(self, key: Hashable) -> list[Run]:
        """The last syncs of a key, the newest first; none if the key is not remembered."""
        return [_shown(run) for run in self._well.get(key) or self._failing.get(key) or ()]

    def queued(self, key: Hashable) -> Trigger | None:
        """What put a key into the queue, None if it is not there."""
        trigger = self._queued.get(key)
        return None if trigger is None else Trigger(*trigger)

    def running(self, key: Hashable) -> tuple[Trigger, float] | None:
        """What a key is being synced for, and for how many seconds; None if it is not."""
        found = self._running.get(key)
        return None if found is None else (Trigger(*found[0]), self._now() - found[1])

    def last_failure(self, key: Hashable) -> _Trigger | None:
        """What the last sync of a key was for, if it failed; None if it did not, or is not remembered."""
        runs = self._failing.get(key)
        return None if runs is None else runs[0][0]

    def keys(self) -> set[Hashable]:
        """All keys of which anything is known."""
        return {*self._queued, *self._running, *self._well, *self._failing}

    @property
    def failing(self) -> int:
        """How many keys are remembered whose last sync failed."""
        return len(self._failing)

    def slowest(self, count: int) -> list[tuple[Hashable, Run]]:
        """Those of the remembered keys whose last sync took longest, the slowest first."""
        all_of_them = (pair for keys in (self._well, self._failing) for pair in keys.items())
        return [(key, _shown(runs[0])) for key, runs in nlargest(count, all_of_them, key=lambda pair: pair[1][0][2])]

    def failed_last(self, count: int) -> list[tuple[Hashable, Run]]:
        """The keys whose last sync failed, that of the last one first."""
        return [(key, _shown(runs[0])) for key, runs in islice(reversed(self._failing.items()), count)]

    def waits(self) -> list[float]:
        """For how many seconds the keys of the last :data:`SAMPLE` syncs were in the queue before."""
        return [began - trigger[0] for trigger, began, _, _ in self._last]

    def times(self) -> list[float]:
        """How many seconds the last :data:`SAMPLE` syncs took."""
        return [seconds for _, _, seconds, _ in self._last]

    @property
    def oldest(self) -> float:
        """For how many seconds the key that has been in the queue for longest has been there; 0 if there is none."""
        first = next(iter(self._queued.values()), None)
        return 0.0 if first is None else self._now() - first[0]

    @property
    def active(self) -> int:
        """How many keys are being synced."""
        return len(self._running)

    @property
    def longest_running(self) -> float:
        """For how many seconds the sync that began first has been going on; 0 if there is none."""
        first = next(iter(self._running.values()), None)
        return 0.0 if first is None else self._now() - first[1]


class NotedQueue(RateLimitingQueue[str]):
    """
    A queue whose history tells what was added because its time had come.

    :param history: of this queue alone
    :param lanes: the order of the keys, if it is not that of their arrival
    """

    def __init__(
        self,
        name: str,
        history: History,
        *,
        limiter: RateLimiter[str] | None = None,
        clock: Clock | None = None,
        lanes: Lanes | None = None,
    ) -> None:
        super().__init__(name, limiter=limiter, clock=clock, metrics=history, order=lanes)
        self._lanes = lanes
        self._noted = history
        self._delay = _Delay(history)
        self._waiting = Waiting(self._clock, self._time_has_come)
        #: What handlers were told when they had keys wait: some let changes come together for a second.
        self._delayed: dict[str, _Trigger] = {}

    def add_after(self, item: str, seconds: float) -> None:
        if seconds > 0 and item not in self._delayed and (source := _telling.get()) is not None:
            self._delayed[item] = source.trigger(item, self._clock.monotonic())
        super().add_after(item, seconds)

    def add_slowly(self, item: str) -> None:
        """Add a key that may wait behind all others, where the queue has lanes for that."""
        lanes = self._lanes
        if lanes is None:
            self.add(item)
            return
        lanes.slowly = True
        try:
            self.add(item)
        finally:
            lanes.slowly = False

    def due_in(self, key: str) -> float | None:
        """Seconds until a key that waits is added, None if it does not wait."""
        return self._waiting.due_in(key)

    @property
    def waiting(self) -> int:
        """How many keys wait for a time to be added."""
        return len(self._waiting)

    def _stop(self) -> None:
        super()._stop()
        self._delayed.clear()

    def _drop(self) -> None:
        key = self._take()
        self._noted.dropped(key)
        self.done(key)

    def _time_has_come(self, key: str) -> None:
        # A timer runs in the context that it was set in: of a handler, perhaps, that asked for something long ago.
        self._delay.cause = self._delayed.pop(key, None)
        token = _telling.set(self._delay)
        try:
            self.add(key)
        finally:
            _telling.reset(token)


class _Delay:
    """Stands for a time that has come, where a handler would."""

    __slots__ = ("_history", "cause")

    def __init__(self, history: History) -> None:
        self._history = history
        #: What a handler was told that asked for the delay, None if another did.
        self.cause: _Trigger | None = None

    def trigger(self, key: Hashable, at: float) -> _Trigger:
        if self.cause is not None:
            return at, *self.cause[1:]
        failed = self._history.last_failure(key)
        return (at, "retry", *failed[2:]) if failed is not None else (at, "due", "", "", "", "")


def _asked(at: float) -> _Trigger:
    return at, "asked", "", "", "", ""


def _shown(run: _Run) -> Run:
    trigger, began, seconds, error = run
    return Run(Trigger(*trigger), began, seconds, error)


def _nothing(_: Hashable) -> None:
    """What a queue without metrics reports to."""
