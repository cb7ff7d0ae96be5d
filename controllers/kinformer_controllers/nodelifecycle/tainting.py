"""Tainting nodes NoExecute, at a limited rate in each zone.

The monitor reports nodes that are not ready, and they wait here in a queue. When a node's turn comes, the cache is read
again, and then the server's node: a node that is ready by then is not tainted. A node has only one of the taints
*not-ready* and *unreachable*, depending on the status of its Ready condition.

:class:`ZoneQueue` has the nodes of one zone in order, each once. A name that is done cannot be added again until it was
removed: when the node is ready again, or when its taint is gone.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

import anyio

from kinformer.bucket import TokenBucket
from kinformer.cache import Indexer
from kinformer.cancellation import cancellations_as_errors
from kinformer.client.errors import ClientError
from kinformer.clock import Clock
from kinformer.logs import get_logger
from kinformer.meta.versions import is_older
from kinformer.models import V1Node, V1Taint
from kinformer.placement.taints import NO_EXECUTE
from kinformer_controllers.nodelifecycle.health import ready_condition
from kinformer_controllers.nodelifecycle.metrics import EVICTIONS
from kinformer_controllers.shared.nodes import zone_key
from kinformer_controllers.shared.taints import NOT_READY, UNREACHABLE, NodeWriter, has_taint

__all__ = ("Act", "NoExecuteTainter", "ZoneQueue")

log = get_logger(__name__)

#: Called with a name. Returns None if it is done, otherwise the least seconds until the next try.
Act = Callable[[str], Awaitable[float | None]]

_BURST: Final = 1
#: Added to the time of a retry, so that it comes after names that were added meanwhile.
_A_MOMENT: Final = 1e-9
#: The number of outdated entries that is tolerated in the heap.
_SLACK: Final = 64
_NOT_READY_TAINT: Final = V1Taint(key=NOT_READY, effect=NO_EXECUTE)
_UNREACHABLE_TAINT: Final = V1Taint(key=UNREACHABLE, effect=NO_EXECUTE)

_BOTH: Final = (_UNREACHABLE_TAINT, _NOT_READY_TAINT)
#: By the status of the Ready condition: the taint that a node gets, and the one that is removed.
_TAINTS: Final = {"False": (_NOT_READY_TAINT, _UNREACHABLE_TAINT), "Unknown": (_UNREACHABLE_TAINT, _NOT_READY_TAINT)}
#: Seconds until the next try for a node without a Ready condition.
_SOON: Final = 0.05


class ZoneQueue:
    """
    The queue.

    :param rate: names a second, the first one at once; 0 to stop
    """

    def __init__(self, rate: float, clock: Clock) -> None:
        self._clock = clock
        self.rate = rate
        self._bucket = TokenBucket(rate, _BURST, clock)
        #: Names that wait or are done.
        self._known: set[str] = set()
        #: By waiting name: the earliest time of its next try, and its place among names with the same time.
        self._waiting: dict[str, tuple[float, int]] = {}
        #: The same in order. An entry that differs from that in `_waiting` is outdated.
        self._heap: list[tuple[float, int, str]] = []
        self._sequence = itertools.count()

    def __len__(self) -> int:
        """Return the number of waiting names."""
        return len(self._waiting)

    def __contains__(self, name: str) -> bool:
        """Whether a name waits."""
        return name in self._waiting

    def add(self, name: str) -> bool:
        """Add a name, unless it was added before and not removed since. Returns whether it was added."""
        if name in self._known:
            return False
        self._known.add(name)
        self._put(name, self._clock.monotonic())
        return True

    def remove(self, name: str) -> bool:
        """Remove a name, so that it can be added again. Returns whether it was known."""
        if name not in self._known:
            return False
        self._known.discard(name)
        self._waiting.pop(name, None)
        return True

    def set_rate(self, rate: float) -> None:
        """
        Set the rate, in names a second; 0 to stop.

        If the next name had to wait at the old rate, it has to wait at the new rate, too.
        """
        if rate == self.rate:
            return
        may_go = self.rate > 0 and self._bucket.try_take()
        self.rate = rate
        self._bucket = TokenBucket(rate, _BURST, self._clock)
        if not may_go:
            self._bucket.try_take()

    def seconds_until_next(self) -> float | None:
        """Return the seconds until the next name; None if there is none before a name is added or the rate changes."""
        head = self._head()
        if head is None or self.rate <= 0:
            return None
        token = max((1.0 - self._bucket.tokens) / self.rate, 0.0)
        return max(token, self._waiting[head][0] - self._clock.monotonic(), 0.0)

    async def drain(self, act: Act) -> None:
        """Call `act` with one name after the other, as many as the rate allows now."""
        while (name := self._head()) is not None:
            now = self._clock.monotonic()
            if self.rate <= 0 or self._waiting[name][0] > now or not self._bucket.try_take():
                return
            again = await act(name)
            if name not in self._waiting:
                continue  # it was removed during the call
            if again is None:
                del self._waiting[name]
            else:
                self._put(name, now + again + _A_MOMENT)

    def _put(self, name: str, when: float) -> None:
        entry = when, next(self._sequence)
        self._waiting[name] = entry
        heapq.heappush(self._heap, (*entry, name))
        # A node that is added and removed while the rate is 0 leaves an outdated entry each time.
        if len(self._heap) > 2 * len(self._waiting) + _SLACK:
            self._heap = [(*entry, name) for name, entry in self._waiting.items()]
            heapq.heapify(self._heap)

    def _head(self) -> str | None:
        while self._heap:
            when, sequence, name = self._heap[0]
            if self._waiting.get(name) == (when, sequence):
                return name
            heapq.heappop(self._heap)
        return None


@dataclass(eq=False, slots=True)
class NoExecuteTainter:
    """
    Taints nodes.

    :param nodes: the cache of nodes
    :param rate: the rate of a new zone, in nodes a second
    """

    writer: NodeWriter
    nodes: Indexer[V1Node]
    rate: float
    clock: Clock
    zones: dict[str, ZoneQueue] = field(default_factory=dict, init=False)
    #: The waiting nodes in the monitor's last version, because the cache may not show the monitor's writes yet.
    _asked: dict[str, V1Node] = field(default_factory=dict, init=False)
    #: The names of those that were reported since the last release.
    _new: list[str] = field(default_factory=list, init=False)
    _changed: anyio.Event = field(default_factory=anyio.Event, init=False)

    def add_zone(self, zone: str) -> None:
        """Add a queue for a zone, if it has none."""
        if zone not in self.zones:
            self.zones[zone] = ZoneQueue(self.rate, self.clock)
            EVICTIONS.labels(zone)  # so that the metric is shown with 0

    def set_rate(self, zone: str, rate: float) -> None:
        """Set the rate of a zone, in nodes a second."""
        self.add_zone(zone)
        self.zones[zone].set_rate(rate)
        self._changed.set()

    async def not_ready(self, node: V1Node, status: str) -> None:
        """
        Report a node that is not ready.

        If it already has the other of the two taints, its taint is replaced at once. Otherwise it waits for its turn,
        which may come after the next :meth:`release`.

        :param status: the status of its Ready condition: False or Unknown
        """
        taint, opposite = _TAINTS[status]
        if has_taint(node.spec.taints, opposite):
            await self._swap(node, taint, opposite)
            return
        self._asked[node.metadata.name] = node
        self._new.append(node.metadata.name)

    def release(self) -> None:
        """
        Queue the nodes that were reported by :meth:`not_ready`.

        It is called when all nodes were checked and the rates are set. So if no node of the cluster is ready, not even
        one is tainted.
        """
        names, self._new = self._new, []
        for name in names:
            if (node := self._asked.get(name)) is not None:
                self._queue(node)
        self._changed.set()

    def _queue(self, node: V1Node) -> None:
        name, zone = node.metadata.name, zone_key(node)
        self.add_zone(zone)
        queue = self.zones[zone]
        # A node that was tainted before and has no taint now was ready in between, or a user has removed the taint.
        if name not in queue and not any(
            has_taint(node.spec.taints, taint) for taint in (_NOT_READY_TAINT, _UNREACHABLE_TAINT)
        ):
            queue.remove(name)
        queue.add(name)
        if name not in queue:
            self._asked.pop(name, None)

    async def ready(self, node: V1Node) -> None:
        """
        Remove both taints from a node, and the node from the queue.

        :raises ClientError: if the taints could not be removed
        """
        if node.spec.taints:
            await self.writer.remove_taints(node.metadata.name, *_BOTH, cached=node)
        self.calmed(node.metadata.name, zone_key(node))

    def calmed(self, name: str, zone: str) -> None:
        """Remove a node that has neither taint from the queue of its zone."""
        self._asked.pop(name, None)
        if (queue := self.zones.get(zone)) is not None:
            queue.remove(name)

    def forget(self, name: str) -> None:
        """Forget a node that is gone."""
        self._asked.pop(name, None)
        for queue in self.zones.values():
            queue.remove(name)

    async def run(self) -> None:
        """Taint nodes when their turn comes, until cancelled."""
        while True:
            self._changed = anyio.Event()
            for queue in list(self.zones.values()):
                await queue.drain(self._try)
            waits = [each for queue in self.zones.values() if (each := queue.seconds_until_next()) is not None]
            timer = self.clock.call_later(min(waits), self._changed.set) if waits else None
            try:
                await self._changed.wait()
            finally:
                if timer is not None:
                    timer.cancel()

    async def _try(self, name: str) -> float | None:
        try:
            with cancellations_as_errors("tainting a node"):
                again = await self.taint(name)
        except Exception:  # of any type, such as a node that cannot be decoded: the others must be handled, too
            log.exception("node_not_tainted", node=name)
            return 0.0
        if again is None:
            self._asked.pop(name, None)
        return again

    async def taint(self, name: str) -> float | None:
        """
        Taint a node whose turn has come, if it is still not ready.

        :return: None if it is done; otherwise the seconds until the next try
        """
        node = self._newest(name)
        if node is None:
            return None
        condition = ready_condition(node)
        if condition is None:
            return _SOON
        if condition.status not in _TAINTS:
            return None
        if not await self._swap(node, *_TAINTS[condition.status]):
            return 0.0
        EVICTIONS.labels(zone_key(node)).inc()
        return None

    def _newest(self, name: str) -> V1Node | None:
        """Return the newer version of a node: from the cache or from the monitor; None if it is gone."""
        cached, asked = self.nodes.get_by_key(name), self._asked.get(name)
        if cached is None or asked is None or asked.metadata.uid != cached.metadata.uid:
            return cached
        return asked if is_older(cached.metadata.resource_version, asked.metadata.resource_version) else cached

    async def _swap(self, node: V1Node, taint: V1Taint, opposite: V1Taint) -> bool:
        def still(there: V1Node) -> bool:
            condition = ready_condition(there)
            return condition is not None and condition.status in _TAINTS

        try:
            await self.writer.swap_taints(node, [taint], [opposite], still=still)
        except ClientError as error:
            log.error("node_not_tainted", node=node.metadata.name, taint=taint.key, error=str(error))
            return False
        return True
