"""Updating the nodes of load balancers when nodes are added or deleted.

In: Services with load balancers, and the current nodes. Out: updates of the load balancers whose nodes have changed.
Promised: a load balancer with unchanged nodes is not updated; a failed update does not stop the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import anyio

from kinformer.clock import Clock
from kinformer.logs import get_logger
from kinformer.meta import meta_namespace_key
from kinformer.models import V1Node, V1Service
from kinformer.record import NORMAL, WARNING, EventRecorder
from kinformer_controllers.servicelb.metrics import (
    HOST_UPDATE_SECONDS,
    HOST_UPDATES,
    NODE_SYNC_ERRORS,
    NODE_SYNC_SECONDS,
)
from kinformer_controllers.servicelb.nodes import eligible_nodes, same_nodes
from kinformer_controllers.servicelb.services import wants_load_balancer
from kinformer_controllers.shared.cloud.interface import ImplementedElsewhere, LoadBalancers

__all__ = ("HostUpdater",)

log = get_logger(__name__)

#: The largest number of concurrent updates, and of nodes' names in one Event.
_AT_ONCE: Final = 10
_NAMES: Final = 20


class HostUpdater:
    """Updates load balancers."""

    def __init__(self, balancers: LoadBalancers, cluster: str, recorder: EventRecorder, clock: Clock) -> None:
        self._balancers = balancers
        self._cluster = cluster
        self._recorder = recorder
        self._clock = clock
        #: The nodes of each load balancer's last update, by the Service's key.
        self._told: dict[str, list[V1Node]] = {}

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
        began, limiter = self._clock.monotonic(), anyio.CapacityLimiter(_AT_ONCE)
        failed: list[str] = []

        async def update(service: V1Service) -> None:
            async with limiter:
                if not await self._update(service, nodes):
                    failed.append(meta_namespace_key(service))

        async with anyio.create_task_group() as tasks:
            for service in services:
                tasks.start_soon(update, service)
        NODE_SYNC_SECONDS.observe(self._clock.monotonic() - began)
        return failed

    async def _update(self, service: V1Service, nodes: Sequence[V1Node]) -> bool:
        if not wants_load_balancer(service):
            return True
        # Earlier nodes that are excluded by now are left out.
        before = eligible_nodes(self._told.get(meta_namespace_key(service), ()))
        self.note(service, nodes)
        if same_nodes(before, nodes):
            return True
        began = self._clock.monotonic()
        HOST_UPDATES.inc()
        try:
            await self._balancers.update_load_balancer(self._cluster, service, nodes)
        except ImplementedElsewhere:
            return True
        except Exception as error:
            return await self._tell_failure(service, nodes, error)
        finally:
            HOST_UPDATE_SECONDS.observe(self._clock.monotonic() - began)
        if nodes:
            self._recorder.event(service, NORMAL, "UpdatedLoadBalancer", "Updated load balancer with new hosts")
        else:
            message = "There are no available nodes for LoadBalancer"
            self._recorder.event(service, WARNING, "UnAvailableLoadBalancer", message)
        return True

    async def _tell_failure(self, service: V1Service, nodes: Sequence[V1Node], error: Exception) -> bool:
        """Report a failed update, unless there is no load balancer. Returns whether there is none."""
        key = meta_namespace_key(service)
        try:
            if await self._balancers.get_load_balancer(self._cluster, service) is None:
                return True
        except Exception as second:
            log.error("load_balancer_unknown", service=key, error=str(second))
        names = [node.metadata.name for node in nodes[:_NAMES]]
        if len(nodes) > _NAMES:
            names.append(f"<{len(nodes) - _NAMES} more>")
        self._recorder.event(
            service,
            WARNING,
            "UpdateLoadBalancerFailed",
            f"Error updating load balancer with new hosts [{' '.join(names)}] [node names limited, total number of "
            f"nodes: {len(nodes)}], error: {error}",
        )
        NODE_SYNC_ERRORS.inc()
        log.error("load_balancer_not_updated", service=key, error=str(error))
        return False
