"""Tainting nodes NoExecute, zone by zone, no faster than each zone's rate.

The monitor says which nodes are not ready; here they wait for their turn. When it comes, the cache is asked once more:
a node that is ready again is left alone. *not-ready* and *unreachable* exclude each other, as the two statuses of the
Ready condition do.
"""

from __future__ import annotations

from typing import Final

import anyio

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
from kinformer_controllers.nodelifecycle.zone_queue import ZoneQueue
from kinformer_controllers.shared.nodes.taint_writer import NodeWriter
from kinformer_controllers.shared.nodes.taints import NOT_READY, UNREACHABLE, has_taint
from kinformer_controllers.shared.nodes.zones import zone_key

__all__ = ("NOT_READY_TAINT", "UNREACHABLE_TAINT", "NoExecuteTainter")

log = get_logger(__name__)

NOT_READY_TAINT: Final = V1Taint(key=NOT_READY, effect=NO_EXECUTE)
UNREACHABLE_TAINT: Final = V1Taint(key=UNREACHABLE, effect=NO_EXECUTE)

_BOTH: Final = (UNREACHABLE_TAINT, NOT_READY_TAINT)
#: What a node gets for the status of its Ready condition, and what it must not have beside it.
_TAINTS: Final = {"False": (NOT_READY_TAINT, UNREACHABLE_TAINT), "Unknown": (UNREACHABLE_TAINT, NOT_READY_TAINT)}
#: Seconds until a node is tried again of which too little is known.
_SOON: Final = 0.05


class NoExecuteTainter:
    """
    :param nodes: the cache of nodes
    :param rate: nodes a second in a zone of which nothing else is known yet
    """

    def __init__(self, writer: NodeWriter, nodes: Indexer[V1Node], rate: float, clock: Clock) -> None:
        self._writer = writer
        self._nodes = nodes
        self._rate = rate
        self._clock = clock
        self.zones: dict[str, ZoneQueue] = {}
        #: The nodes that wait, as they were when the monitor last said so: the cache may not show yet what it wrote.
        self._asked: dict[str, V1Node] = {}
        #: Of these, the names of those that were found since the last release.
        self._new: list[str] = []
        self._changed = anyio.Event()

    def add_zone(self, zone: str) -> None:
        """Have a queue for a zone, if there is none."""
        if zone not in self.zones:
            self.zones[zone] = ZoneQueue(self._rate, self._clock)
            EVICTIONS.labels(zone)  # counted from 0, which is shown

    def set_rate(self, zone: str, rate: float) -> None:
        """Taint so many nodes of a zone a second from now on."""
        self.add_zone(zone)
        self.zones[zone].set_rate(rate)
        self._changed.set()

    async def not_ready(self, node: V1Node, status: str) -> None:
        """
        Have a node tainted that is not ready: at once if it has the other of the two taints, or else in its turn, from
        the next :meth:`release` on.

        :param status: of its Ready condition: False or Unknown
        """
        taint, opposite = _TAINTS[status]
        if has_taint(node.spec.taints, opposite):
            await self._swap(node, taint, opposite)
            return
        self._asked[node.metadata.name] = node
        self._new.append(node.metadata.name)

    def release(self) -> None:
        """
        Let those have their turn of which :meth:`not_ready` was told.

        It is called when all nodes were looked at, and the rates are set by what was found: not a node of a cluster is
        tainted in which none reports.
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
        # One that was done and has no taint all the same was ready in between, or somebody else has taken it off.
        if name not in queue and not any(
            has_taint(node.spec.taints, taint) for taint in (NOT_READY_TAINT, UNREACHABLE_TAINT)
        ):
            queue.remove(name)
        queue.add(name)
        if name not in queue:
            self._asked.pop(name, None)

    async def ready(self, node: V1Node) -> None:
        """
        Take both taints off a node, and it out of the queue.

        :raises ClientError: if they cannot be taken off
        """
        name = node.metadata.name
        if node.spec.taints:
            await self._writer.remove_taints(name, *_BOTH, cached=node)
        self._asked.pop(name, None)
        if (queue := self.zones.get(zone_key(node))) is not None:
            queue.remove(name)

    def forget(self, name: str) -> None:
        """A node is gone."""
        self._asked.pop(name, None)
        for queue in self.zones.values():
            queue.remove(name)

    async def run(self) -> None:
        """Taint nodes when their turn has come, until cancelled."""
        while True:
            self._changed = anyio.Event()
            for queue in list(self.zones.values()):
                await queue.drain(self._try)
            waits = [each for queue in self.zones.values() if (each := queue.seconds_until_next()) is not None]
            timer = self._clock.call_later(min(waits), self._changed.set) if waits else None
            try:
                await self._changed.wait()
            finally:
                if timer is not None:
                    timer.cancel()

    async def _try(self, name: str) -> float | None:
        try:
            with cancellations_as_errors("tainting a node"):
                again = await self.taint(name)
        except Exception:  # a node that does not decode, say: the others are to have their turn
            log.exception("node_not_tainted", node=name)
            return 0.0
        if again is None:
            self._asked.pop(name, None)
        return again

    async def taint(self, name: str) -> float | None:
        """
        Taint a node whose turn has come, if it is not ready still.

        :return: None if it was dealt with, or seconds after which to try again
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
        """The node as the cache shows it, or as the monitor has written it, whichever is newer; None if it is gone."""
        cached, asked = self._nodes.get_by_key(name), self._asked.get(name)
        if cached is None or asked is None or asked.metadata.uid != cached.metadata.uid:
            return cached
        return asked if is_older(cached.metadata.resource_version, asked.metadata.resource_version) else cached

    async def _swap(self, node: V1Node, taint: V1Taint, opposite: V1Taint) -> bool:
        try:
            await self._writer.swap_taints(node, [taint], [opposite])
        except ClientError as error:
            log.error("node_not_tainted", node=node.metadata.name, taint=taint.key, error=str(error))
            return False
        return True
