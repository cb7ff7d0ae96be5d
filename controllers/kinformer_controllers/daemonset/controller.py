"""The DaemonSet controller, as kube-controller-manager has it.

In: DaemonSets, their pods and revisions, and nodes. Out: one pod on each node that a DaemonSet selects, old pods
replaced within the limits of its strategy, revisions, and the status. Promised: no node is given a second pod because a
cache is behind.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio

from kinformer.client import Client
from kinformer.clock import Clock, RealClock
from kinformer.informers import SharedInformerFactory
from kinformer.logs import get_logger
from kinformer.manager import Controller, ControllerContext
from kinformer.meta import GroupResource, Selector, SelectorError, label_selector_as_selector
from kinformer.models import V1ControllerRevision, V1DaemonSet, V1Node, V1Pod
from kinformer.record import WARNING, EventRecorder
from kinformer_controllers.daemonset.backoff import FailedPodsBackoff
from kinformer_controllers.daemonset.handlers import DaemonSetWatches
from kinformer_controllers.daemonset.history import DaemonSetHistory, History
from kinformer_controllers.daemonset.kind import KIND
from kinformer_controllers.daemonset.metrics import STALE_SYNC_SKIPS
from kinformer_controllers.daemonset.nodes import concerned
from kinformer_controllers.daemonset.options import DaemonSetOptions
from kinformer_controllers.daemonset.plan import plan_nodes, pods_by_node
from kinformer_controllers.daemonset.rolling_update import plan_update
from kinformer_controllers.daemonset.status import count_nodes, rebased, same_counts
from kinformer_controllers.daemonset.syncing import BURST_REPLICAS, DaemonPods
from kinformer_controllers.shared.owning.claim import ControllerRefManager, recheck_deletion
from kinformer_controllers.shared.owning.identity import owner_id
from kinformer_controllers.shared.owning.index import POD_NODE_INDEX, owned_by
from kinformer_controllers.shared.waiting.consistency import ConsistencyStore, VersionedStore
from kinformer_controllers.shared.waiting.expectations import Expectations
from kinformer_controllers.shared.writing.pods import PodControl
from kinformer_controllers.shared.writing.status import write_status

__all__ = ("DaemonSetController", "make_controller")

log = get_logger(__name__)

#: The component that its Events are from.
COMPONENT = "daemonset-controller"
PODS = GroupResource("", "pods")
DAEMON_SETS = GroupResource("apps", "daemonsets")


def make_controller(context: ControllerContext) -> DaemonSetController:
    """The entry point ``daemonset``."""
    options = context.read(DaemonSetOptions)
    return DaemonSetController(
        context.client,
        context.informers,
        context.recorder(COMPONENT),
        clock=context.clock,
        workers=options.concurrent_daemonset_syncs,
    )


class DaemonSetController:
    """
    Syncs DaemonSets. Changed nodes have a queue of their own.

    :param workers: how many DaemonSets, and how many nodes, are synced at once
    :param burst: pods that one sync makes, and deletes, at most
    """

    def __init__(
        self,
        client: Client,
        informers: SharedInformerFactory,
        recorder: EventRecorder,
        *,
        clock: Clock | None = None,
        workers: int = 2,
        burst: int = BURST_REPLICAS,
    ) -> None:
        self._clock = clock = clock or RealClock()
        self._recorder = recorder
        sets, pods = informers.informer_for(V1DaemonSet), informers.informer_for(V1Pod)
        nodes, revisions = informers.informer_for(V1Node), informers.informer_for(V1ControllerRevision)
        self._sets, self._pods, self._nodes = sets.indexer, pods.indexer, nodes.indexer
        self._server = client.resource(V1DaemonSet)
        self.expectations = Expectations(clock)
        stores: dict[GroupResource, VersionedStore] = {PODS: pods.indexer, DAEMON_SETS: sets.indexer}
        self._seen = ConsistencyStore(stores, clock, skips=STALE_SYNC_SKIPS)
        self._pod_control = PodControl(client, recorder, lambda owner, version: self._seen.wrote(owner, PODS, version))
        self._daemon_pods = DaemonPods(self._pod_control, self.expectations, recorder, burst)
        self._history = DaemonSetHistory(client, revisions)
        self._backoff = FailedPodsBackoff(clock)
        self.controller = Controller("daemonset", self.sync, workers=workers, clock=clock)
        self.node_updates = Controller(
            "daemonset-node-updates", self.sync_node, workers=workers, queue_name="daemonset-node-updates", clock=clock
        )
        watches = DaemonSetWatches(sets.indexer, self.controller.queue, self.expectations, self._seen.forget)
        watches.attach(self.controller, sets, pods, revisions)
        watches.attach_nodes(self.controller, self.node_updates, nodes)

    @property
    def has_synced(self) -> bool:
        """Whether the caches were complete and the workers have started."""
        return self.controller.has_synced and self.node_updates.has_synced

    async def run(self) -> None:
        """Work until cancelled."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.controller.run)
            tasks.start_soon(self.node_updates.run)

    async def sync_node(self, name: str) -> None:
        """Have the DaemonSets synced that a changed node concerns."""
        node = self._nodes.get_by_key(name)
        if node is not None:
            for key in concerned(node, self._sets.list(), self._pods, POD_NODE_INDEX):
                self.controller.queue.add(key)

    async def sync(self, key: str) -> float | None:
        """
        Bring one DaemonSet to where it should be; never called for the same key twice at a time.

        :return: seconds until there is something to do that no event tells of, None if there is not
        """
        if (wait := self._seen.wait(key)) is not None:
            return wait
        daemonset = self._sets.get_by_key(key)
        if daemonset is None:
            self.expectations.forget(key)
            self._seen.forget(key)
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
            return None  # its revisions may be gone already, and without them there is no telling what is up to date
        recheck = self._recheck(daemonset)

        async def pods() -> list[V1Pod]:
            return await self._claim_pods(daemonset, selector, recheck)

        history = await self._history.of(daemonset, selector, recheck, pods)
        if not self.expectations.satisfied(owner_id(daemonset)):
            return await self._write_status(daemonset, await pods(), history, observed=False)
        wait = None
        try:
            wait = await self._update(daemonset, pods, history)
        finally:
            # Also after an error: what could be done is told.
            later = await self._write_status(daemonset, await pods(), history, observed=True)
        return min((seconds for seconds in (wait, later) if seconds is not None), default=None)

    async def _update(
        self, daemonset: V1DaemonSet, pods: Callable[[], Awaitable[list[V1Pod]]], history: History
    ) -> float | None:
        nodes = self._nodes.list()
        observed = (daemonset.status.observed_generation if daemonset.status is not None else None) or 0

        def backoff(pod: V1Pod, node: str) -> float | None:
            return self._backoff.failed((daemonset.metadata.uid, observed, node))

        there = pods_by_node(await pods())
        plan = plan_nodes(daemonset, nodes, there, history.hash, backoff, self._clock.now())
        self._daemon_pods.tell(daemonset, plan)
        await self._daemon_pods.write(daemonset, plan.create, plan.delete, history.hash)
        strategy = daemonset.spec.update_strategy
        rolling = strategy is not None and strategy.type == "RollingUpdate"
        if rolling and self.expectations.satisfied(owner_id(daemonset)):
            there = pods_by_node(await pods())
            update = plan_update(daemonset, nodes, there, history.hash, self._clock.now())
            await self._daemon_pods.write(daemonset, update.create, update.delete, history.hash)
        await self._history.truncate(daemonset, history, pods_by_node(await pods(), with_ended=True))
        return plan.look_again

    async def _write_status(
        self, daemonset: V1DaemonSet, pods: list[V1Pod], history: History, *, observed: bool
    ) -> float | None:
        there, now = pods_by_node(pods), self._clock.now()
        status = count_nodes(daemonset, self._nodes.list(), there, history.hash, now, observed=observed)
        if not same_counts(daemonset, status):
            written = await write_status(self._server, daemonset, status, same=lambda *_: False, rebase=rebased)
            self._seen.wrote(owner_id(daemonset), DAEMON_SETS, written.metadata.resource_version)
        min_ready_seconds = daemonset.spec.min_ready_seconds or 0
        waits = min_ready_seconds > 0 and (status.number_ready or 0) != (status.number_available or 0)
        return float(min_ready_seconds) if waits else None

    async def _claim_pods(
        self, daemonset: V1DaemonSet, selector: Selector, recheck: Callable[[], Awaitable[None]]
    ) -> list[V1Pod]:
        """The pods that are its own, after adopting and releasing what has to be."""
        manager: ControllerRefManager[V1Pod] = ControllerRefManager(
            daemonset, KIND, selector, self._pod_control.patch, recheck
        )
        return await manager.claim(owned_by(self._pods, daemonset, KIND.kind))

    def _recheck(self, daemonset: V1DaemonSet) -> Callable[[], Awaitable[None]]:
        meta = daemonset.metadata

        async def read_fresh() -> V1DaemonSet:
            return await self._server.get(meta.name, meta.namespace)

        return recheck_deletion(read_fresh, meta.uid)
