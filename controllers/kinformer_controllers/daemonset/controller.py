"""The DaemonSet controller, as kube-controller-manager has it.

In: DaemonSets, their pods and revisions, and nodes. Out: one pod on each node that a DaemonSet selects, the replacement
of old pods within the limits of its strategy, revisions, and the status. Promised: no node gets a second pod because a
cache is old.
"""

from __future__ import annotations

from typing import Final

from prometheus_client import Counter

from kinformer.cache.division import OwnUid
from kinformer.controllerutil.claiming import OwnedPods
from kinformer.controllerutil.expectations import Expectations
from kinformer.controllerutil.owning import owner_id
from kinformer.controllerutil.pod_control import PodControl
from kinformer.logs import get_logger
from kinformer.manager import Controller, ControllerContext, Group
from kinformer.meta import SelectorError, label_selector_as_selector
from kinformer.models import V1ControllerRevision, V1DaemonSet, V1Node, V1Pod
from kinformer.record import WARNING
from kinformer_controllers.daemonset.handlers import DaemonSetWatches, NodeUpdates
from kinformer_controllers.daemonset.history import DaemonSetHistory
from kinformer_controllers.daemonset.placement import Placements
from kinformer_controllers.daemonset.plan import pods_by_node
from kinformer_controllers.daemonset.spec import DaemonSetOptions
from kinformer_controllers.daemonset.status import DaemonSetStatusWriter
from kinformer_controllers.daemonset.syncing import DaemonPods
from kinformer_controllers.daemonset.template import KIND

__all__ = ("DaemonSetController",)

log = get_logger(__name__)

_STALE_SYNC_SKIPS: Final = Counter(
    "daemonset_controller_stale_sync_skips",
    "Syncs that were put off because a cache was older than the last write.",
    ["group", "resource"],
)

#: The source component of its Events.
COMPONENT = "daemonset-controller"


class DaemonSetController(Group):
    """Syncs DaemonSets. Changed nodes have a queue of their own."""

    def __init__(self, context: ControllerContext) -> None:
        workers = context.read(DaemonSetOptions).concurrent_daemonset_syncs
        informers = context.informers
        clock = context.clock
        self._recorder = recorder = context.recorder(COMPONENT)
        sets, pods = informers.informer_for(V1DaemonSet), informers.informer_for(V1Pod)
        nodes, revisions = informers.informer_for(V1Node), informers.informer_for(V1ControllerRevision)
        self._sets = sets.indexer
        self._server = context.client.resource(V1DaemonSet)
        self.expectations = Expectations(clock)
        control = PodControl(context.client, recorder)
        self._owned = OwnedPods(KIND, self._server, pods, control.patch)
        self.placements = placements = Placements()
        self._daemon_pods = DaemonPods(control, nodes.indexer, placements, self.expectations, recorder, clock)
        self._status = DaemonSetStatusWriter(self._server, nodes.indexer, placements, clock)
        self._history = DaemonSetHistory(context.client, revisions)
        self.controller = Controller(
            "daemonset",
            self.sync,
            workers=workers,
            consistent=True,
            shard_by_owner=OwnUid(sets),
            on_stale=lambda it: _STALE_SYNC_SKIPS.labels(it.group, it.resource).inc(),
            clock=clock,
        )
        updates = NodeUpdates(nodes.indexer, sets.indexer, pods.indexer, self.controller.queue.add)
        # Not sharded by node: each process must find the DaemonSets of its own shards that a node concerns. It writes
        # nothing.
        self.node_updates = Controller(
            "daemonset-node-updates", updates.sync, workers=workers, shard_by=None, clock=clock
        )
        watches = DaemonSetWatches(self.controller, sets, self.expectations)
        watches.attach(pods, revisions, nodes, self.node_updates)
        super().__init__(self.controller, self.node_updates)

    async def sync(self, key: str) -> float | None:
        """
        Sync one DaemonSet. It is never called twice at the same time for one key.

        :return: seconds until the next sync, if one is needed without an event; otherwise None
        """
        daemonset = self._sets.get_by_key(key)
        if daemonset is None:
            self.expectations.forget(key)
            self.placements.forget(key)
            return None
        try:
            selector = label_selector_as_selector(daemonset.spec.selector)
        except SelectorError as error:
            log.error("selector_not_understood", kind=KIND.kind, key=key, error=str(error))
            return None
        if selector.is_empty and daemonset.spec.selector is not None:
            message = "This daemon set is selecting all pods. A non-empty selector is required."
            self._recorder.event(daemonset, WARNING, "SelectingAll", message)
            return None
        if daemonset.metadata.deletion_timestamp:
            return None  # its revisions may already be gone, and without them no pod can be compared with the template

        async def pods() -> list[V1Pod]:
            return await self._owned.claim(daemonset, selector)

        history = await self._history.of(daemonset, selector, self._owned.may_adopt(daemonset), pods)
        if not self.expectations.satisfied(owner_id(daemonset)):
            return await self._status.write(daemonset, await pods(), history.hash, observed=False)
        failure: Exception | None = None
        wait: float | None = None
        try:
            wait = await self._daemon_pods.update(daemonset, pods, history.hash)
            await self._history.truncate(daemonset, history, pods_by_node(await pods(), with_ended=True))
        except Exception as error:  # of any type: it is raised after the status has been written
            failure = error
        try:
            later = await self._status.write(daemonset, await pods(), history.hash, observed=True)
        except Exception as error:
            if failure is None:
                raise
            log.warning("status_not_written", kind=KIND.kind, key=key, error=str(error))
        if failure is not None:
            raise failure
        return min((seconds for seconds in (wait, later) if seconds is not None), default=None)
