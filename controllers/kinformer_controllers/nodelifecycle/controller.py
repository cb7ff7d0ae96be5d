"""The node lifecycle controller, as kube-controller-manager has it.

In: nodes, their Leases, and their pods. Out: Unknown conditions on nodes that no longer report, NoSchedule taints for
conditions, NoExecute taints (at a limited rate in each zone) on nodes that are not ready, a false Ready condition on
their pods, and old names of labels. Promised: the more nodes of a zone are not ready, the slower its nodes are tainted;
if no node of the whole cluster is ready, none is tainted.

Pods are evicted because of the taints by another controller, the taint eviction controller.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kinformer.cache import (
    Deleted,
    ResourceEventHandlerDetailedFuncs,
    ResourceEventHandlerFuncs,
    deletion_handling_key,
)
from kinformer.client.errors import NotFound
from kinformer.controllerutil.owning import add_pod_node_index
from kinformer.logs import get_logger
from kinformer.manager import Controller, ControllerContext, Group, Periodic
from kinformer.meta import meta_namespace_key
from kinformer.models import V1Lease, V1Node, V1Pod, V1Taint
from kinformer.placement.taints import NO_SCHEDULE
from kinformer_controllers.nodelifecycle.health import GracePeriods, ready_condition
from kinformer_controllers.nodelifecycle.monitor import NodeMonitor
from kinformer_controllers.nodelifecycle.pods import PodReadiness
from kinformer_controllers.nodelifecycle.spec import NodeLifecycleOptions
from kinformer_controllers.nodelifecycle.tainting import NoExecuteTainter
from kinformer_controllers.nodelifecycle.zones import Disruption, Rates
from kinformer_controllers.shared.nodes import NODE_CONTROLLER
from kinformer_controllers.shared.taints import (
    DISK_PRESSURE,
    MEMORY_PRESSURE,
    NETWORK_UNAVAILABLE,
    NOT_READY,
    PID_PRESSURE,
    UNREACHABLE,
    UNSCHEDULABLE,
    NodeWriter,
    differing_taints,
)

__all__ = ("NodeLifecycleController",)

log = get_logger(__name__)

NAME = "node-lifecycle-controller"
#: As in Kubernetes.
_NODE_WORKERS, _POD_WORKERS = 8, 4

#: The key of the taint for a condition's type and status.
_KEYS: Final = {
    ("Ready", "False"): NOT_READY,
    ("Ready", "Unknown"): UNREACHABLE,
    ("MemoryPressure", "True"): MEMORY_PRESSURE,
    ("DiskPressure", "True"): DISK_PRESSURE,
    ("NetworkUnavailable", "True"): NETWORK_UNAVAILABLE,
    ("PIDPressure", "True"): PID_PRESSURE,
}
#: The keys of this controller's taints. Other NoSchedule taints are not changed.
_OWN: Final = frozenset({*_KEYS.values(), UNSCHEDULABLE})
#: The old name of each label that has one.
_OLD: Final = {"kubernetes.io/os": "beta.kubernetes.io/os", "kubernetes.io/arch": "beta.kubernetes.io/arch"}


class NodeLifecycleController(Group):
    """Runs a queue of nodes, a queue of pods, the monitor, and the tainter, each with its own workers."""

    def __init__(self, context: ControllerContext) -> None:
        options = context.read(NodeLifecycleOptions)
        informers = context.informers
        recorder = context.recorder(NODE_CONTROLLER)
        clock = context.clock
        nodes, pods = informers.informer_for(V1Node), informers.informer_for(V1Pod)
        leases = informers.informer_for(V1Lease)
        add_pod_node_index(pods)
        self._nodes, self._pods = nodes.indexer, pods.indexer
        self._server, self._writer = context.client.resource(V1Node), NodeWriter(context.client, clock)
        self.tainter = NoExecuteTainter(self._writer, nodes.indexer, options.node_eviction_rate, clock)
        self._readiness = PodReadiness(context.client, recorder, clock)
        self.disruption = Disruption(
            Rates(
                options.node_eviction_rate,
                options.secondary_node_eviction_rate,
                options.large_cluster_size_threshold,
            )
        )
        self.monitor = NodeMonitor(
            context.client.resource(V1Node),
            context.informers.client.resource(V1Lease),
            nodes,
            leases,
            pods.indexer,
            self.tainter,
            self._readiness,
            self.disruption,
            recorder,
            GracePeriods(options.node_monitor_grace_period, options.node_startup_grace_period),
            options.unhealthy_zone_threshold,
            clock,
        )
        self.controller = Controller(
            NAME, self.sync_node, workers=_NODE_WORKERS, queue_name="node_lifecycle_controller", clock=clock
        )
        self.pod_controller = Controller(
            f"{NAME}-pods",
            self.sync_pod,
            workers=_POD_WORKERS,
            queue_name="node_lifecycle_controller_pods",
            clock=clock,
        )
        self.controller.handle(nodes, ResourceEventHandlerFuncs(self._node_seen, self._node_changed, self._node_gone))
        self.pod_controller.handle(pods, ResourceEventHandlerDetailedFuncs(self._pod_added, self._pod_changed))
        self.checks = Periodic("node-health", self.monitor.check, options.node_monitor_period, clock=clock)
        beside = Group(self.tainter, self.checks, after=(nodes, pods, leases))
        super().__init__(self.controller, self.pod_controller, beside)

    def _node_seen(self, node: V1Node) -> None:
        self.controller.queue.add(node.metadata.name)

    def _node_changed(self, old: V1Node, new: V1Node) -> None:
        self.controller.queue.add(new.metadata.name)

    def _node_gone(self, node: Deleted[V1Node]) -> None:
        self.monitor.forget(deletion_handling_key(node))

    def _pod_added(self, pod: V1Pod, is_in_initial_list: bool) -> None:
        """
        Queue a pod that is bound to a node.

        Pods of the first list are left alone: they came to their nodes before this process started. Their kubelets may
        have reported since then that they are ready.
        """
        if pod.spec.node_name and not is_in_initial_list:
            self.pod_controller.queue.add(meta_namespace_key(pod))

    def _pod_changed(self, old: V1Pod, new: V1Pod) -> None:
        if new.spec.node_name and new.spec.node_name != old.spec.node_name:
            self.pod_controller.queue.add(meta_namespace_key(new))

    async def sync_node(self, name: str) -> None:
        """Update a node's NoSchedule taints and labels."""
        node = self._nodes.get_by_key(name)
        if node is None:
            return
        add, remove = _no_schedule_changes(node)
        if add or remove:
            await self._writer.swap_taints(node, add, remove)
        await self._writer.set_labels(name, _labels_to_set(node.metadata.labels))

    async def sync_pod(self, key: str) -> None:
        """Mark a pod as not ready if it was bound to a node that is not ready."""
        pod = self._pods.get_by_key(key)
        node = self._nodes.get_by_key(pod.spec.node_name or "") if pod is not None else None
        if pod is None or node is None:
            return
        # Before the first check of all nodes, the node's own condition is used, because the pod is not queued again.
        health = self.monitor.health.get(node.metadata.name)
        ready = health.ready if health is not None else ready_condition(node)
        if ready is None or ready.status == "True" or not await self._is_not_ready(node):
            return
        if errors := await self._readiness.mark_not_ready([pod]):
            raise errors[0]

    async def _is_not_ready(self, node: V1Node) -> bool:
        """Whether the server says so, too. The cache may not show yet that the node is ready again."""
        try:
            ready = ready_condition(await self._server.get(node.metadata.name))
        except NotFound:
            return False
        return ready is not None and ready.status != "True"


def _no_schedule_changes(node: V1Node) -> tuple[list[V1Taint], list[V1Taint]]:
    """Return the NoSchedule taints to add to a node, and those to remove from it."""
    conditions = (node.status.conditions if node.status is not None else None) or ()
    keys = [_KEYS[found] for each in conditions if (found := (each.type, each.status)) in _KEYS]
    if node.spec.unschedulable:
        keys.append(UNSCHEDULABLE)
    there = [taint for taint in node.spec.taints or () if taint.effect == NO_SCHEDULE and taint.key in _OWN]
    return differing_taints([V1Taint(key=key, effect=NO_SCHEDULE) for key in keys], there)


def _labels_to_set(labels: Mapping[str, str] | None) -> dict[str, str]:
    """Return the old labels that a node lacks or that differ from the new ones, with the values to set."""
    labels = labels or {}
    return {old: labels[new] for new, old in _OLD.items() if new in labels and labels.get(old) != labels[new]}
