"""Which Services have a load balancer, which nodes it sends to, and updating these when nodes come and go.

In: Services, and the current nodes. Out: updates of the load balancers whose nodes have changed. A node that is not
ready is included, because the load balancer's own health checks detect this sooner. A node is excluded if it is being
deleted, if the cluster autoscaler is about to remove it, or by a label. Promised: a load balancer with unchanged nodes
is not updated; a failed update does not stop the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Final

import anyio
from prometheus_client import Counter, Histogram

from kinformer.clock import Clock
from kinformer.controllerutil.finalizers import has_finalizer
from kinformer.logs import get_logger
from kinformer.meta import meta_namespace_key
from kinformer.models import V1Node, V1Service
from kinformer.record import NORMAL, WARNING, EventRecorder
from kinformer_controllers.shared.cloud.interface import ImplementedElsewhere, LoadBalancers

__all__ = (
    "FINALIZER",
    "HostUpdater",
    "eligible_nodes",
    "is_worth_a_sync",
    "needs_cleanup",
    "needs_update",
    "same_nodes",
    "wants_load_balancer",
)

log = get_logger(__name__)

_BUCKETS: Final = [2**power for power in range(15)]

_HOST_UPDATES: Final = Counter(
    "service_controller_loadbalancer_sync_total",
    "A metric counting the amount of times any load balancer has been configured, as an effect of service/node changes "
    "on the cluster",
)
_NODE_SYNC_ERRORS: Final = Counter(
    "service_controller_nodesync_error_total",
    "A metric counting the amount of times any load balancer has been configured and errored, as an effect of node "
    "changes on the cluster",
)
_NODE_SYNC_SECONDS: Final = Histogram(
    "service_controller_nodesync_latency_seconds",
    "A metric measuring the latency for nodesync which updates loadbalancer hosts on cluster node updates.",
    buckets=_BUCKETS,
)
_HOST_UPDATE_SECONDS: Final = Histogram(
    "service_controller_update_loadbalancer_host_latency_seconds",
    "A metric measuring the latency for updating each load balancer hosts.",
    buckets=_BUCKETS,
)

EXCLUDE: Final = "node.kubernetes.io/exclude-from-external-load-balancers"
TO_BE_DELETED: Final = "ToBeDeletedByClusterAutoscaler"
#: The texts that Go's strconv.ParseBool parses as false.
_FALSE: Final = ("0", "f", "F", "false", "FALSE", "False")

FINALIZER: Final = "service.kubernetes.io/load-balancer-cleanup"
_LOAD_BALANCER: Final = "LoadBalancer"
#: The fields of a Service that a load balancer is made from.
_FIELDS: Final = (
    "load_balancer_source_ranges",
    "session_affinity",
    "session_affinity_config",
    "load_balancer_ip",
    "external_ips",
    "external_traffic_policy",
    "health_check_node_port",
)

#: The largest number of nodes' names in one Event.
_NAMES: Final = 20


def eligible_nodes(nodes: Iterable[V1Node]) -> list[V1Node]:
    """Return the nodes that load balancers send to, sorted by name."""
    found = [
        node
        for node in nodes
        if node.metadata.deletion_timestamp is None and _is_included(node) and not _is_to_be_deleted(node)
    ]
    return sorted(found, key=lambda node: node.metadata.name)


def is_worth_a_sync(old: V1Node, new: V1Node) -> bool:
    """Whether a change of a node concerns load balancers."""
    return _is_included(old) != _is_included(new) or _provider_id(old) != _provider_id(new)


def same_nodes(before: Iterable[V1Node], now: Iterable[V1Node]) -> bool:
    """Whether two lists have the same nodes with the same provider ids."""
    return {_identity(node) for node in before} == {_identity(node) for node in now}


def _is_included(node: V1Node) -> bool:
    value = (node.metadata.labels or {}).get(EXCLUDE)
    # The label excludes the node with any value except false.
    return value is None or value in _FALSE


def _is_to_be_deleted(node: V1Node) -> bool:
    taints = (node.spec.taints if node.spec is not None else None) or ()
    return any(taint.key == TO_BE_DELETED for taint in taints)


def _identity(node: V1Node) -> tuple[str, str]:
    return node.metadata.name, _provider_id(node)


def _provider_id(node: V1Node) -> str:
    return (node.spec.provider_id if node.spec is not None else None) or ""


def wants_load_balancer(service: V1Service) -> bool:
    """Whether a Service asks for a load balancer and does not name another controller by its class."""
    return service.spec.type == _LOAD_BALANCER and service.spec.load_balancer_class is None


def needs_cleanup(service: V1Service) -> bool:
    """Whether a Service has a load balancer that must be deleted."""
    if not has_finalizer(service, FINALIZER):
        return False
    return service.metadata.deletion_timestamp is not None or service.spec.type != _LOAD_BALANCER


def needs_update(old: V1Service, new: V1Service) -> bool:
    """Whether a change of a Service matters to its load balancer."""
    if not wants_load_balancer(old) and not wants_load_balancer(new):
        return False
    if wants_load_balancer(old) != wants_load_balancer(new):
        return True
    if any((getattr(old.spec, field) or None) != (getattr(new.spec, field) or None) for field in _FIELDS):
        return True
    if [_port(it) for it in old.spec.ports or ()] != [_port(it) for it in new.spec.ports or ()]:
        return True
    if len(old.spec.ip_families or ()) != len(new.spec.ip_families or ()):
        return True
    return (old.metadata.annotations or {}) != (new.metadata.annotations or {}) or old.metadata.uid != new.metadata.uid


def _port(port: Any) -> tuple[Any, ...]:
    return port.name, port.protocol, port.port, port.node_port, port.target_port, port.app_protocol


@dataclass(eq=False, slots=True)
class HostUpdater:
    """
    Updates load balancers.

    :param at_once: the largest number of concurrent updates
    """

    balancers: LoadBalancers
    cluster: str
    recorder: EventRecorder
    clock: Clock
    _: KW_ONLY
    at_once: int
    #: The nodes of each load balancer's last update, by the Service's key.
    _told: dict[str, list[V1Node]] = field(default_factory=dict, init=False)

    def note(self, service: V1Service, nodes: Sequence[V1Node]) -> None:
        """Note the nodes of a load balancer."""
        self._told[meta_namespace_key(service)] = list(nodes)

    def forget(self, key: str) -> None:
        self._told.pop(key, None)

    async def update_all(self, services: Sequence[V1Service], nodes: Sequence[V1Node]) -> list[str]:
        """
        Update the load balancers whose nodes have changed.

        :return: the keys of the Services whose load balancer could not be updated
        """
        began, limiter = self.clock.monotonic(), anyio.CapacityLimiter(self.at_once)
        failed: list[str] = []

        async def update(service: V1Service) -> None:
            async with limiter:
                if not await self._update(service, nodes):
                    failed.append(meta_namespace_key(service))

        async with anyio.create_task_group() as tasks:
            for service in services:
                tasks.start_soon(update, service)
        _NODE_SYNC_SECONDS.observe(self.clock.monotonic() - began)
        return failed

    async def _update(self, service: V1Service, nodes: Sequence[V1Node]) -> bool:
        if not wants_load_balancer(service):
            return True
        # Earlier nodes that are excluded by now are left out.
        before = eligible_nodes(self._told.get(meta_namespace_key(service), ()))
        self.note(service, nodes)
        if same_nodes(before, nodes):
            return True
        began = self.clock.monotonic()
        _HOST_UPDATES.inc()
        try:
            await self.balancers.update_load_balancer(self.cluster, service, nodes)
        except ImplementedElsewhere:
            return True
        except Exception as error:
            return await self._tell_failure(service, nodes, error)
        finally:
            _HOST_UPDATE_SECONDS.observe(self.clock.monotonic() - began)
        if nodes:
            self.recorder.event(service, NORMAL, "UpdatedLoadBalancer", "Updated load balancer with new hosts")
        else:
            message = "There are no available nodes for LoadBalancer"
            self.recorder.event(service, WARNING, "UnAvailableLoadBalancer", message)
        return True

    async def _tell_failure(self, service: V1Service, nodes: Sequence[V1Node], error: Exception) -> bool:
        """Report a failed update, unless there is no load balancer. Returns whether there is none."""
        key = meta_namespace_key(service)
        try:
            if await self.balancers.get_load_balancer(self.cluster, service) is None:
                return True
        except Exception as second:
            log.error("load_balancer_unknown", service=key, error=str(second))
        names = [node.metadata.name for node in nodes[:_NAMES]]
        if len(nodes) > _NAMES:
            names.append(f"<{len(nodes) - _NAMES} more>")
        self.recorder.event(
            service,
            WARNING,
            "UpdateLoadBalancerFailed",
            f"Error updating load balancer with new hosts [{' '.join(names)}] [node names limited, total number of "
            f"nodes: {len(nodes)}], error: {error}",
        )
        _NODE_SYNC_ERRORS.inc()
        log.error("load_balancer_not_updated", service=key, error=str(error))
        return False
