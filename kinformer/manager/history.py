"""History: what a controller remembers of its keys. It answers why a key was synced, and with which result.

The history has two inputs. A :class:`Source` wraps each event handler of the controller and records the change that the
handler is called with. The queue reports each key that is added, handed out and finished, in the way it reports to its
metrics. If a key is added while a handler is called for a change, this change is the *trigger* of the key. At the end
of a sync, the trigger, the times and the error become one :class:`Run`.

If a key is already in the queue, a further change causes no further sync and is not recorded.

The memory is bounded. The history keeps the last :data:`RUNS` runs of :data:`KEYS` keys whose last sync succeeded, and
of as many keys whose last sync failed. It forgets first the keys that were synced longest ago. Of failing keys that it
forgets, it remembers that they fail, so that they are counted. A full history takes about 2 MB for each controller. In
addition, each key in the queue has its trigger of about 200 bytes. The history holds no references to objects.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from contextvars import ContextVar
from itertools import islice
from typing import Any, Final, NamedTuple, TypeAlias, cast

from kinformer.cache import DeletedFinalStateUnknown, ResourceEventHandler
from kinformer.clock import Clock
from kinformer.manager.lanes import Lanes
from kinformer.meta import accessor_of
from kinformer.workqueue import MetricsProvider, QueueMetrics, RateLimiter, RateLimitingQueue, default_provider
from kinformer.workqueue.queue import Order
from kinformer.workqueue.waiting import Waiting

__all__ = ("KEYS", "RUNS", "SAMPLE", "History", "NotedQueue", "Run", "Source", "Trigger")

#: How many succeeding keys, and how many failing keys, a history keeps.
KEYS: Final = 500

#: How many failing keys are counted in addition.
_COUNTED: Final = 100_000

#: How many runs of each key a history keeps.
RUNS: Final = 4

#: How many of the last runs of all keys a history keeps, for statistics of their times.
SAMPLE: Final = 256

#: Characters of an error that are kept.
_LONGEST_ERROR: Final = 300

#: The plain tuples in which a :class:`Trigger` and a :class:`Run` are kept.
_Trigger: TypeAlias = tuple[float, str, str, str, str, str]
_Run: TypeAlias = tuple[_Trigger, float, float, str]


class Trigger(NamedTuple):
    """
    What added a key to the queue.

    :param at: when the key was added, in the clock's monotonic time
    :param event: ``listed``, ``added``, ``updated``, ``deleted`` or ``resynced`` for a change that an informer
        reported; ``retry`` after a failed sync, with the object that triggered that sync; ``due`` for a delay that has
        passed; ``asked`` for anything else
    :param informer: the name of the informer that reported the change, empty if none did
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

    :param trigger: what added its key to the queue
    :param began: when it began, in the clock's monotonic time
    :param seconds: how long it took
    :param error: why it failed, empty if it succeeded
    """

    trigger: Trigger
    began: float
    seconds: float
    error: str


class Source:
    """
    Wraps an event handler, and records the change that it is called with.

    :param informer: the informer's name
    :param handler: the handler to call
    """

    __slots__ = ("__wrapped__", "_add", "_delete", "_event", "_informer", "_new", "_old", "_update")

    def __init__(self, informer: str, handler: ResourceEventHandler[Any]) -> None:
        #: Metrics show the name of the wrapped handler.
        self.__wrapped__ = handler
        self._informer = informer
        self._add, self._update, self._delete = handler.on_add, handler.on_update, handler.on_delete
        self._event = ""
        self._old: Any = None
        self._new: Any = None

    # An informer calls each handler in its own task, and so in its own context. A context variable therefore says which
    # handler is being called, also after an await in the handler. It is not reset: nothing else runs in that task.

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
        """The change that the handler is being called with, as the trigger of a key."""
        obj, event = self._new, self._event
        try:
            # Reading the attributes takes a third of the time that an accessor takes.
            meta = obj.metadata
            version = meta.resource_version
            if event == "updated" and self._old.metadata.resource_version == version:
                event = "resynced"
            return at, event, self._informer, meta.namespace, meta.name, version
        except AttributeError:  # a dict, a DeletedFinalStateUnknown, or a Struct of a user's own
            return at, event, self._informer, *_names_of(obj)


def _names_of(obj: Any) -> tuple[str, str, str]:
    """The namespace, name and resourceVersion of any object. They are empty if it has none."""
    if isinstance(obj, DeletedFinalStateUnknown):
        if obj.obj is None:
            return "", obj.key, ""
        obj = obj.obj
    try:
        accessor = accessor_of(obj)
        return accessor.namespace(obj), accessor.name(obj), accessor.resource_version(obj)
    except (TypeError, AttributeError):  # an object of a test, or one that a transformer has cut
        return "", "", ""


_NEVER: Final[Any] = ()

#: The source or delay that runs in this task or timer, if any. It gives the trigger of the keys that are added.
_telling: ContextVar[Source | _Delay | None] = ContextVar("telling", default=None)


# More than 15 fields: each report of the queue is one call here, without an object of counters or of metrics between.
class History:
    """
    The history of one controller's keys. The controller's queue reports to it as to its metrics.

    :param clock: for times
    :param provider: makes the real metrics, to which the history passes all reports; the default provider if None
    """

    def __init__(self, clock: Clock, provider: MetricsProvider | None = None) -> None:
        self._now = clock.monotonic
        self._provider = provider
        self._add: Callable[[Hashable], None] = _nothing
        self._get: Callable[[Hashable], None] = _nothing
        self._retry: Callable[[], None] | None = None
        #: Reports to the metrics that a worker is done with a key.
        self.done: Callable[[Hashable], None] = _nothing
        # Kept as plain tuples, which are made twice as fast as named tuples.
        self._queued: dict[Hashable, _Trigger] = {}
        self._running: dict[Hashable, tuple[_Trigger, float]] = {}
        self._well: OrderedDict[Hashable, tuple[_Run, ...]] = OrderedDict()
        self._failing: OrderedDict[Hashable, tuple[_Run, ...]] = OrderedDict()
        #: Failing keys whose runs are forgotten.
        self._also_failing: set[Hashable] = set()
        self._last: deque[_Run] = deque(maxlen=SAMPLE)
        #: Counters: keys added, syncs ended, syncs failed, and keys added again after a failure.
        self.adds = 0
        self.syncs = 0
        self.errors = 0
        self.retries = 0

    # --- what the queue reports

    def metrics_of(self, name: str, clock: Clock) -> QueueMetrics:
        """See :class:`~kinformer.workqueue.MetricsProvider`. A history is for one queue."""
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
        if self._retry is not None:
            self._retry()

    # --- what the controller reports

    def ended(self, key: Hashable, error: str = "") -> float:
        """
        Record that the sync of a key has ended.

        :param error: why it failed, empty if it succeeded
        :return: how many seconds it took
        """
        now = self._now()
        trigger, began = self._running.pop(key, _NEVER) or (_asked(now), now)
        well, failing = self._well, self._failing
        before = well.pop(key, ())
        if not before and (failing or self._also_failing):
            before = failing.pop(key, ())
            self._also_failing.discard(key)
        run = trigger, began, now - began, error[:_LONGEST_ERROR]
        self.syncs += 1
        self._last.append(run)
        if error:
            self.errors += 1
            well = failing
        well[key] = (run, *before[: RUNS - 1])
        if len(well) > KEYS:
            forgotten, _ = well.popitem(last=False)
            if error and len(self._also_failing) < _COUNTED:
                self._also_failing.add(forgotten)
        return now - began

    def dropped(self, key: Hashable) -> None:
        """Record that a key that the queue has handed out is not synced."""
        self._running.pop(key, None)

    # --- queries

    def runs(self, key: Hashable) -> list[Run]:
        """The last syncs of a key, the newest first. The list is empty if the key is not remembered."""
        return [_shown(run) for run in self._well.get(key) or self._failing.get(key) or ()]

    def queued(self, key: Hashable) -> Trigger | None:
        """What added a key to the queue, None if the key is not queued."""
        trigger = self._queued.get(key)
        return None if trigger is None else Trigger(*trigger)

    def running(self, key: Hashable) -> tuple[Trigger, float] | None:
        """The trigger of the running sync of a key, and for how many seconds it has run; None if no sync runs."""
        found = self._running.get(key)
        return None if found is None else (Trigger(*found[0]), self._now() - found[1])

    def last_failure(self, key: Hashable) -> _Trigger | None:
        """The trigger of the last sync of a key, if it failed. None if it succeeded or is not known."""
        runs = self._failing.get(key)
        if runs is None:
            return _asked(0.0) if key in self._also_failing else None
        return runs[0][0]

    def keys(self) -> set[Hashable]:
        """All keys that the history knows."""
        return {*self._queued, *self._running, *self._well, *self._failing}

    @property
    def failing(self) -> int:
        """How many keys failed in their last sync."""
        return len(self._failing) + len(self._also_failing)

    def slowest(
        self, count: int, is_there: Callable[[Hashable, Run], bool] = lambda key, run: True
    ) -> list[tuple[Hashable, Run]]:
        """
        The remembered keys whose last sync took longest, the slowest first.

        :param is_there: whether the object of a key still exists; called with the key and its last sync
        """
        every = (pair for keys in (self._well, self._failing) for pair in keys.items())
        ordered = sorted(every, key=lambda pair: pair[1][0][2], reverse=True)
        found = ((key, _shown(runs[0])) for key, runs in ordered)
        return list(islice((pair for pair in found if is_there(*pair)), count))

    def failed_last(self, count: int) -> list[tuple[Hashable, Run]]:
        """The keys whose last sync failed, the latest failure first."""
        return [(key, _shown(runs[0])) for key, runs in islice(reversed(self._failing.items()), count)]

    def waits(self) -> list[float]:
        """How many seconds the keys of the last :data:`SAMPLE` syncs waited in the queue."""
        return [began - trigger[0] for trigger, began, _, _ in self._last]

    def times(self) -> list[float]:
        """How many seconds the last :data:`SAMPLE` syncs took."""
        return [seconds for _, _, seconds, _ in self._last]

    @property
    def oldest(self) -> float:
        """How many seconds the oldest key in the queue has waited; 0 if the queue is empty."""
        first = next(iter(self._queued.values()), None)
        return 0.0 if first is None else self._now() - first[0]

    @property
    def active(self) -> int:
        """How many keys are being synced."""
        return len(self._running)

    @property
    def longest_running(self) -> float:
        """How many seconds the longest running sync has run; 0 if none runs."""
        first = next(iter(self._running.values()), None)
        return 0.0 if first is None else self._now() - first[1]


class NotedQueue(RateLimitingQueue[str]):
    """
    A queue that reports to a history, also which keys were added because their delay had passed.

    :param history: must belong to this queue only
    :param prioritize: whether keys of :meth:`add_slowly` wait behind all others
    """

    def __init__(
        self,
        name: str,
        history: History,
        *,
        limiter: RateLimiter[str] | None = None,
        clock: Clock | None = None,
        prioritize: bool = False,
    ) -> None:
        super().__init__(name, limiter=limiter, clock=clock, metrics=history)
        self._prioritize = prioritize
        #: The lanes while there is a backlog of slow keys; None otherwise.
        self._lanes: Lanes | None = None
        self._noted = history
        self._delay = _Delay(history)
        self._waiting = Waiting(self._clock, self._time_has_come)
        #: The triggers of keys that a handler added with a delay. Some handlers collect changes for a second.
        self._delayed: dict[str, _Trigger] = {}

    def add_after(self, item: str, seconds: float) -> None:
        if seconds > 0 and item not in self._delayed and (source := _telling.get()) is not None:
            self._delayed[item] = source.trigger(item, self._clock.monotonic())
        super().add_after(item, seconds)

    def add_rate_limited(self, item: str) -> None:
        self._noted.retries += 1
        super().add_rate_limited(item)

    def add_slowly(self, item: str) -> None:
        """Add a key that waits behind all others, if the queue prioritizes."""
        if not self._prioritize:
            self.add(item)
            return
        lanes = self._lanes
        if lanes is None:
            lanes = self._lanes = Lanes(cast("deque[str]", self._line))
            self._line_up(lanes)
            self._pop = self._pop_of_lanes
        lanes.slowly = True
        try:
            self.add(item)
        finally:
            lanes.slowly = False

    def hand_out_by(self, order: Order[str]) -> None:
        """Hand keys out in another order, which is empty: that of a recording. Call this before any key is added."""
        self._prioritize = False
        self._line_up(order)

    def look_again(self) -> None:
        """Hand out a key that such an order has ready now, if a worker waits for one."""
        if self._waiters and self._ready():
            self._wake()

    def _pop_of_lanes(self) -> str:
        lanes = cast("Lanes", self._lanes)
        item = lanes.pop()
        if not lanes.has_backlog:
            self._line_up(lanes.fast)
            self._lanes = None
        return item

    def due_in(self, key: str) -> float | None:
        """Seconds until a delayed key is added, None if the key is not delayed."""
        return self._waiting.due_in(key)

    @property
    def waiting(self) -> int:
        """How many keys are delayed."""
        return len(self._waiting)

    def _stop(self) -> None:
        super()._stop()
        self._delayed.clear()

    def _drop(self) -> None:
        key = self._take()
        self._noted.dropped(key)
        self.done(key)

    def _time_has_come(self, key: str) -> None:
        # A timer runs in the context in which it was set. There, _telling may be a handler's call of long ago.
        self._delay.cause = self._delayed.pop(key, None)
        token = _telling.set(self._delay)
        try:
            self.add(key)
        finally:
            _telling.reset(token)


class _Delay:
    """Takes the place of a :class:`Source` for keys that are added because their delay has passed."""

    __slots__ = ("_history", "cause")

    def __init__(self, history: History) -> None:
        self._history = history
        #: The change for which a handler asked for the delay. None if no handler did.
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
    """Takes the reports of a queue that has no metrics."""
