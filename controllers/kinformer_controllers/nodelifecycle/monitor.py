"""The monitor: checks all nodes every few seconds, sets conditions to Unknown, and has nodes tainted and pods marked.

One pass goes over the cache. A node that is ready and has no taints is done at once. All others are handled a few at a
time, because they may need writes. An error for one node is logged, and the node is checked again in the next pass. If
a node's conditions could not be written, nothing else is done about it in that pass, because its state may be wrong.

After an outage of this process's own, all Leases look old. So there is no pass while the caches of nodes or Leases are
known to be behind, and a node's Lease is read from the server before the node becomes Unknown.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import Any, Final

import anyio.lowlevel

from kinformer.cache import Indexer, SharedIndexInformer, wait_until_current
from kinformer.client import ListOptions, Resource
from kinformer.client.errors import ClientError
from kinformer.clock import Clock
from kinformer.controllerutil.conditions import conditions_patch
from kinformer.controllerutil.owning import POD_NODE_INDEX
from kinformer.logs import get_logger
from kinformer.models import V1Lease, V1Node, V1NodeCondition, V1ObjectMeta, V1Pod, to_dict
from kinformer.record import EventRecorder
from kinformer.workqueue import parallelize_until
from kinformer_controllers.nodelifecycle.health import (
    GracePeriods,
    Moment,
    NodeHealth,
    Observation,
    observe,
    was_given_up,
)
from kinformer_controllers.nodelifecycle.metrics import ALL_NODES_SECONDS, NODE_SECONDS, forget_zone, tell_zone
from kinformer_controllers.nodelifecycle.pods import PodReadiness
from kinformer_controllers.nodelifecycle.tainting import NoExecuteTainter
from kinformer_controllers.nodelifecycle.zones import Disruption, zone_state
from kinformer_controllers.shared.nodes import record_node_event, record_status_change, zone_key

__all__ = ("NodeMonitor",)

log = get_logger(__name__)

#: A node with this label does not count for the state of its zone.
_EXCLUDED_FROM_DISRUPTION: Final = "node.kubernetes.io/exclude-disruption"
LEASE_NAMESPACE: Final = "kube-node-lease"

#: The number of nodes that are handled at the same time, as in Kubernetes.
_WORKERS: Final = 8
#: The number of tries to write a node's conditions in one pass, and the seconds between them.
_TRIES: Final = 5
_PAUSE: Final = 0.02
#: The number of nodes after which other tasks get their turn.
_PIECE: Final = 64


@dataclass(eq=False, slots=True)
class NodeMonitor:
    """
    Checks all nodes.

    :param lease_server: lists Leases, with the informers' client: no other one may in Kubernetes, and nobody may get a
        single one
    :param unhealthy_threshold: the share of nodes that must be not ready for a zone to be disrupted
    """

    server: Resource[V1Node]
    lease_server: Resource[V1Lease]
    nodes: SharedIndexInformer[V1Node]
    leases: SharedIndexInformer[V1Lease]
    pods: Indexer[V1Pod]
    tainter: NoExecuteTainter
    readiness: PodReadiness
    disruption: Disruption
    recorder: EventRecorder
    grace: GracePeriods
    unhealthy_threshold: float
    clock: Clock
    #: The health of each node, by name.
    health: dict[str, NodeHealth] = field(default_factory=dict, init=False)
    #: The uid of each node in the last pass, by name.
    _known: dict[str, str] = field(default_factory=dict, init=False)
    #: Nodes some of whose pods could not be marked.
    _to_retry: set[str] = field(default_factory=set, init=False)

    def forget(self, name: str) -> None:
        """Forget a node that is gone: marking its pods is not tried again."""
        self._to_retry.discard(name)

    async def check(self) -> None:
        """Check all nodes once. Do nothing if the caches do not catch up with the server within ten seconds."""
        if late := await wait_until_current((self.nodes, self.leases), clock=self.clock):
            log.warning("nodes_not_checked", behind=late)
            return
        began = self.clock.monotonic()
        nodes = self.nodes.indexer.list()
        await self._note_changes(nodes)
        zones: dict[str, list[V1NodeCondition | None]] = defaultdict(list)

        others: list[V1Node] = []
        for number, node in enumerate(nodes):
            if number % _PIECE == 0:
                await anyio.lowlevel.checkpoint()
            if not self._check_ready(node, zones):
                others.append(node)
        await parallelize_until(_WORKERS, len(others), lambda piece: self._check_node(others[piece], zones))
        await self._handle_disruption(zones, nodes)
        self.tainter.release()
        ALL_NODES_SECONDS.observe(self.clock.monotonic() - began)

    async def _note_changes(self, nodes: list[V1Node]) -> None:
        """Handle the nodes that were added or deleted since the last pass."""
        for number, node in enumerate(nodes):
            if number % _PIECE == 0:
                await anyio.lowlevel.checkpoint()
            meta = node.metadata
            self._add_zone(zone_key(node))
            if meta.name not in self._known:
                self._known[meta.name] = meta.uid
                record_node_event(self.recorder, node, "RegisteredNode", f"Registered Node {meta.name} in Controller")
                await self._mark_ready(node)
                if was_given_up(node):
                    # The process that gave it up may have ended before it had marked all of its pods.
                    self._to_retry.add(meta.name)
        if len(self._known) == len(nodes):
            return
        there = {node.metadata.name for node in nodes}
        for name in [name for name in self._known if name not in there]:
            gone = V1Node(metadata=V1ObjectMeta(name=name, uid=self._known.pop(name)))
            self.health.pop(name, None)
            self.tainter.forget(name)
            record_node_event(self.recorder, gone, "RemovingNode", f"Removing Node {name} from Controller")

    def _add_zone(self, zone: str) -> None:
        if self.disruption.add_zone(zone):
            self.tainter.add_zone(zone)

    def _check_ready(self, node: V1Node, zones: dict[str, list[V1NodeCondition | None]]) -> bool:
        """Check a node if it is ready and has no taints. Otherwise return False: it has yet to be checked."""
        began, name = self.clock.monotonic(), node.metadata.name
        try:
            seen = self._seen(node, self.leases.indexer.get_by_key(f"{LEASE_NAMESPACE}/{name}"))
            if seen.conditions or seen.ready is None or seen.ready.status != "True" or node.spec.taints:
                return False
        except Exception:  # of any type, such as a node that cannot be decoded; _check_node logs it
            return False
        zone = zone_key(node)
        if _EXCLUDED_FROM_DISRUPTION not in (node.metadata.labels or {}):
            zones[zone].append(seen.ready)
        self.tainter.calmed(name, zone)
        self._to_retry.discard(name)
        NODE_SECONDS.observe(self.clock.monotonic() - began)
        return True

    async def _check_node(self, node: V1Node, zones: dict[str, list[V1NodeCondition | None]]) -> None:
        """Check one node, and add its Ready condition to its zone's list."""
        began = self.clock.monotonic()
        try:
            found = await self._observe(node)
            if found is not None:
                node, seen = found
                if _EXCLUDED_FROM_DISRUPTION not in (node.metadata.labels or {}):
                    zones[zone_key(node)].append(seen.ready)
                await self._follow(node, seen)
        except Exception:  # of any type, such as a node that cannot be decoded: the others must be checked, too
            log.exception("node_not_checked", node=node.metadata.name)
        NODE_SECONDS.observe(self.clock.monotonic() - began)

    async def _observe(self, node: V1Node) -> tuple[V1Node, Observation] | None:
        """
        Observe a node, and write its conditions if they become Unknown.

        :return: the node, which may be a newer version, and the observation; None if the write failed
        """
        name = node.metadata.name
        for _ in range(_TRIES):
            lease = self.leases.indexer.get_by_key(f"{LEASE_NAMESPACE}/{name}")
            seen = self._seen(node, lease)
            if not seen.conditions:
                return node, seen
            try:
                # The cache may be older than the server. That of nodes may be, too: then the patch meets a conflict.
                lease = await self._live_lease(name)
                seen = self._seen(node, lease)
                if not seen.conditions:
                    return node, seen
                written = await self.server.patch(name, _patch(node, seen.conditions), subresource="status")
            except ClientError as error:
                log.error("node_health_not_written", node=name, error=str(error))
            else:
                self.health[name] = seen.written(lease)
                return written, seen
            try:
                node = await self.server.get(name)
            except ClientError as error:
                log.error("node_not_read", node=name, error=str(error))
                break
            await self.clock.sleep(_PAUSE)
        return None

    def _seen(self, node: V1Node, lease: V1Lease | None) -> Observation:
        name, now = node.metadata.name, Moment(self.clock.now(), self.clock.monotonic())
        seen = observe(self.health.get(name), node, lease, now, self.grace)
        self.health[name] = seen.health
        return seen

    async def _live_lease(self, name: str) -> V1Lease | None:
        options = ListOptions(field_selector=f"metadata.name={name}")
        return next(iter((await self.lease_server.list(LEASE_NAMESPACE, options)).items), None)

    async def _follow(self, node: V1Node, seen: Observation) -> None:
        """Taint a node and mark its pods, by its Ready condition before and after this check."""
        name, observed = node.metadata.name, seen.observed
        status = seen.ready.status if seen.ready is not None else ""
        if status == "True":
            await self._mark_ready(node)
        elif status in ("False", "Unknown"):
            await self.tainter.not_ready(node, status)
        if status not in ("", "True") and (observed == "True" or name in self._to_retry):
            if observed == "True":
                record_status_change(self.recorder, node, "NodeNotReady")
            if await self.readiness.mark_not_ready(self.pods.by_index(POD_NODE_INDEX, name)):
                self._to_retry.add(name)
                return
        self._to_retry.discard(name)

    async def _mark_ready(self, node: V1Node) -> bool:
        try:
            await self.tainter.ready(node)
        except ClientError as error:
            log.error("taints_not_removed", node=node.metadata.name, error=str(error))
            return False
        return True

    async def _handle_disruption(self, zones: dict[str, list[V1NodeCondition | None]], nodes: list[V1Node]) -> None:
        found = {}
        for zone, conditions in zones.items():
            unhealthy, state = zone_state(conditions, self.unhealthy_threshold)
            found[zone] = (state, len(conditions))
            tell_zone(zone, len(conditions), unhealthy)
        step = self.disruption.step(found)
        for zone in step.gone:
            forget_zone(zone)
        if step.stopped:
            log.warning("no_node_is_ready", zones=len(found), nodes=len(nodes))
            for node in nodes:
                await self._mark_ready(node)
        if step.resumed:
            log.info("nodes_are_ready_again", zones=len(found))
            now = self.clock.monotonic()
            self.health = {name: replace(health, probed=now) for name, health in self.health.items()}
        for zone, rate in step.rates.items():
            log.info("zone_changed", zone=zone, state=self.disruption.states[zone].value, rate=rate)
            self.tainter.set_rate(zone, rate)


def _patch(node: V1Node, conditions: tuple[V1NodeCondition, ...]) -> dict[str, Any]:
    """Return the patch of a node's status. It meets a conflict if the node has changed since it was read."""
    version = node.metadata.resource_version
    there = node.status.conditions if node.status is not None else None
    return {
        "metadata": {"resourceVersion": version},
        "status": conditions_patch(there, [to_dict(condition) for condition in conditions]),
    }
