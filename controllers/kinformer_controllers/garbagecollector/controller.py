"""The garbage collector: deletes objects without owners, and carries out foreground deletion and orphaning.

It is kube-controller-manager's controller. The objects of every kind that can be deleted are in one graph of owners.
The graph puts objects that must be checked into one of two queues, each with its own workers. Only the workers make
requests. They check with the server before each deletion.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import anyio

from kinformer.deletion.graph import Graph, Node, ReferenceLike
from kinformer.logs import get_logger
from kinformer.manager import Controller, ControllerContext, Group, Runnable
from kinformer.meta import GroupResource
from kinformer.models import V1ObjectReference
from kinformer.record import WARNING
from kinformer.tasks import plain_task_group
from kinformer.workqueue import PrometheusMetrics, default_provider
from kinformer_controllers.garbagecollector.collecting import Collector
from kinformer_controllers.garbagecollector.following import CachedHeads, GraphFollower, is_followed
from kinformer_controllers.garbagecollector.objects import Objects
from kinformer_controllers.garbagecollector.spec import GarbageCollectorOptions
from kinformer_controllers.shared.kinds import KindMapper, KindMonitor

__all__ = ("GarbageCollector", "make_controller")

log = get_logger(__name__)

NAME: Final = "garbage-collector-controller"


def make_controller(context: ControllerContext) -> Runnable:
    """The entry point ``garbage-collector-controller``; its options are :class:`.GarbageCollectorOptions`."""
    if not context.read(GarbageCollectorOptions).enable_garbage_collector:
        return _Idle()
    return GarbageCollector(context)


class GarbageCollector(Group):
    """
    Collects garbage.

    :param follows: selects the kinds in the graph; owners of other kinds are read from the server
    :ivar graph: all known objects and their owners
    """

    def __init__(self, context: ControllerContext, *, follows: Callable[[GroupResource], bool] = is_followed) -> None:
        workers = context.read(GarbageCollectorOptions).concurrent_gc_syncs
        clock = context.clock
        self._recorder = context.recorder(NAME)
        self.graph = Graph(self)
        cached = CachedHeads()
        self.monitor = KindMonitor(
            NAME, context.client, GraphFollower(context.informers, self.graph, cached, follows), clock=clock
        )
        objects = Objects(context.client, KindMapper(context.client, clock=clock))
        self.collector = Collector(
            self.graph,
            objects,
            cached.get,
            self.look_at,
            self.monitor.wait_current,
        )
        self.deletions = Controller(
            NAME,
            self.collector.collect,
            workers=workers,
            queue_name="garbage_collector_attempt_to_delete",
            clock=clock,
        )
        self.orphanings = Controller(
            f"{NAME}-orphan",
            self.collector.orphan,
            workers=workers,
            queue_name="garbage_collector_attempt_to_orphan",
            clock=clock,
        )
        provider = default_provider()
        if isinstance(provider, PrometheusMetrics):
            provider.show_buffer("garbage_collector_graph_changes", self)
        super().__init__(self.deletions, self.orphanings)

    @property
    def waiting(self) -> int:
        """How many changes of objects are not in the graph yet."""
        return self.monitor.untold

    @property
    def taken(self) -> int:
        """How many changes of objects were added to the graph."""
        return self.graph.changes

    async def run(self) -> None:
        """Work until cancelled."""
        async with plain_task_group() as tasks:
            tasks.start_soon(self.monitor.run)
            # A kind that cannot be listed does not stop the others: the wait for it has a limit.
            await self.monitor.wait_synced()
            await self.monitor.wait_told()
            await super().run()

    # --- The graph calls these methods.

    def look_at(self, node: Node, /) -> None:
        """See :class:`~kinformer.deletion.graph.Agenda`."""
        self.deletions.queue.add(node.uid)

    def look_later(self, node: Node, /) -> None:
        """See :class:`~kinformer.deletion.graph.Agenda`."""
        self.deletions.queue.add_rate_limited(node.uid)

    def orphan(self, node: Node, /) -> None:
        """See :class:`~kinformer.deletion.graph.Agenda`."""
        self.orphanings.queue.add(node.uid)

    def misplaced(self, node: Node, owner: ReferenceLike, /) -> None:
        """See :class:`~kinformer.deletion.graph.Agenda`."""
        about = V1ObjectReference(
            api_version=node.kind.api_version,
            kind=node.kind.kind,
            namespace=node.namespace or None,
            name=node.name,
            uid=node.uid,
        )
        meant = f"[{owner.api_version}/{owner.kind}, namespace: {node.namespace}, name: {owner.name}, uid: {owner.uid}]"
        text = f'ownerRef {meant} does not exist in namespace "{node.namespace}"'
        self._recorder.event(about, WARNING, "OwnerRefInvalidNamespace", text)


class _Idle:
    """Runs in place of the garbage collector if it is switched off."""

    async def run(self) -> None:
        """Wait until cancelled."""
        log.info("garbage_collector_disabled", hint="--enable-garbage-collector=false")
        await anyio.sleep_forever()
