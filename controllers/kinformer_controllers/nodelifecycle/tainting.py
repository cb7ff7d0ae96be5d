"""Tainting nodes NoExecute, at a limited rate in each zone.

The monitor reports nodes that are not ready, and they wait here in a queue. When a node's turn comes, the cache is read
again, and then the server's node: a node that is ready by then is not tainted. A node has only one of the taints
*not-ready* and *unreachable*, depending on the status of its Ready condition.
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
from kinformer_controllers.shared.nodes import zone_key
from kinformer_controllers.shared.taints import NOT_READY, UNREACHABLE, NodeWriter, has_taint

__all__ = ("NOT_READY_TAINT", "UNREACHABLE_TAINT", "NoExecuteTainter")

log = get_logger(__name__)

NOT_READY_TAINT: Final = V1Taint(key=NOT_READY, effect=NO_EXECUTE)
UNREACHABLE_TAINT: Final = V1Taint(key=UNREACHABLE, effect=NO_EXECUTE)

_BOTH: Final = (UNREACHABLE_TAINT, NOT_READY_TAINT)
#: By the status of the Ready condition: the taint that a node gets, and the one that is removed.
_TAINTS: Final = {"False": (NOT_READY_TAINT, UNREACHABLE_TAINT), "Unknown": (UNREACHABLE_TAINT, NOT_READY_TAINT)}
#: Seconds until the next try for a node without a Ready condition.
_SOON: Final = 0.05


class NoExecuteTainter:
    """
    Taints nodes.

    :param nodes: the cache of nodes
    :param rate: the rate of a new zone, in nodes a second
    """

    def __init__(self, writer: NodeWriter, nodes: Indexer[V1Node], rate: float, clock: Clock) -> None:
        self._writer = writer
        self._nodes = nodes
        self._rate = rate
        self._clock = clock
        self.zones: dict[str, ZoneQueue] = {}
        #: The waiting nodes in the monitor's last version, because the cache may not show the monitor's writes yet.
        self._asked: dict[str, V1Node] = {}
        #: The names of those that were reported since the last release.
        self._new: list[str] = []
        self._changed = anyio.Event()

    def add_zone(self, zone: str) -> None:
        """Add a queue for a zone, if it has none."""
        if zone not in self.zones:
            self.zones[zone] = ZoneQueue(self._rate, self._clock)
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
            has_taint(node.spec.taints, taint) for taint in (NOT_READY_TAINT, UNREACHABLE_TAINT)
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
            await self._writer.remove_taints(node.metadata.name, *_BOTH, cached=node)
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
        cached, asked = self._nodes.get_by_key(name), self._asked.get(name)
        if cached is None or asked is None or asked.metadata.uid != cached.metadata.uid:
            return cached
        return asked if is_older(cached.metadata.resource_version, asked.metadata.resource_version) else cached

    async def _swap(self, node: V1Node, taint: V1Taint, opposite: V1Taint) -> bool:
        def still(there: V1Node) -> bool:
            condition = ready_condition(there)
            return condition is not None and condition.status in _TAINTS

        try:
            await self._writer.swap_taints(node, [taint], [opposite], still=still)
        except ClientError as error:
            log.error("node_not_tainted", node=node.metadata.name, taint=taint.key, error=str(error))
            return False
        return True
