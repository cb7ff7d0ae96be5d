"""Where traffic should stay: the zones of nodes, and the hints for endpoints that follow from them.

Hints are the zones and nodes whose traffic should go to an endpoint, by the service's traffic distribution. A service
whose node is not in the cache yet waits for it.
"""

from __future__ import annotations

from collections.abc import Collection

from kinformer.cache import Store
from kinformer.models import V1Node, V1Service
from kinformer.workqueue import Queue
from kinformer_controllers.endpointslice.endpoints import NO_HINTS, Hints
from kinformer_controllers.endpointslice.zones import asks_for_zone_hints
from kinformer_controllers.shared.nodes import ZONE_LABEL

__all__ = ("Nodes", "hints_for", "traffic_distribution")

_SAME_NODE = "PreferSameNode"
_KNOWN = ("PreferClose", "PreferSameZone", _SAME_NODE)


class Nodes:
    """
    Looks up nodes in the cache, and queues the services that wait for a node.

    A pod may be in the cache before its node is. Kubernetes retries such a service with growing delays. Here it is also
    queued when the node appears.
    """

    def __init__(self, nodes: Store[V1Node], queue: Queue[str]) -> None:
        self._nodes = nodes
        self._queue = queue
        # The services by the node that they wait for, and the nodes by service.
        self._waiting: dict[str, dict[str, None]] = {}
        self._missing: dict[str, Collection[str]] = {}

    def zone_of(self, name: str) -> str | None:
        """Return the zone of a node; ``""`` if it has no zone, None if the cache has no such node."""
        node = self._nodes.get_by_key(name)
        if node is None:
            return None
        return (node.metadata.labels or {}).get(ZONE_LABEL, "")

    @property
    def awaited(self) -> dict[str, list[str]]:
        """The nodes that services wait for, with these services."""
        return {name: list(services) for name, services in self._waiting.items()}

    def wait_for(self, service: str, names: Collection[str]) -> None:
        """Queue the service when one of these nodes appears. It no longer waits for other nodes."""
        for name in self._missing.pop(service, ()):
            services = self._waiting[name]
            del services[service]
            if not services:
                del self._waiting[name]
        for name in names:
            self._waiting.setdefault(name, {})[service] = None
        if names:
            self._missing[service] = names

    def seen(self, node: V1Node) -> None:
        """
        Queue the services that wait for a node.

        Other changes of nodes do not matter. An endpoint keeps the zone that its node had when it was written, and the
        pods of a node that is gone are deleted, too: their events queue the services.
        """
        for service in list(self._waiting.get(node.metadata.name, ())):
            # Its sync will set again what it waits for.
            self.wait_for(service, ())
            self._queue.add(service)


def traffic_distribution(service: V1Service) -> str:
    """Return the service's traffic distribution; ``""`` if there is none or it is not supported."""
    wanted: str | None = service.spec.traffic_distribution
    if wanted not in _KNOWN or asks_for_zone_hints(service):
        return ""
    return wanted


def hints_for(distribution: str, ready: bool, zone: str, node_name: str) -> Hints:
    """Return the hints of an endpoint: its zone, and its node if that is preferred; none while it is not ready."""
    if not distribution or not ready:
        return NO_HINTS
    nodes = (node_name,) if node_name and distribution == _SAME_NODE else ()
    return ((zone,) if zone else (), nodes)
