"""Nodes: in which zone each is, and which services wait for one that nobody has heard of yet."""

from __future__ import annotations

from collections.abc import Collection

from kinformer.cache import DeletedFinalStateUnknown, Store
from kinformer.models import V1Node
from kinformer.workqueue import Queue

__all__ = ("ZONE_LABEL", "Nodes")

ZONE_LABEL = "topology.kubernetes.io/zone"


class Nodes:
    """
    Looks nodes up in the cache; and, told of nodes as an event handler, has those services synced that wait for one.

    A pod may be seen before its node is. Kubernetes tries such a service again, later each time; here it is tried again
    when the node appears, too.
    """

    def __init__(self, nodes: Store[V1Node], queue: Queue[str]) -> None:
        self._nodes = nodes
        self._queue = queue
        # Services by the node that they wait for, and the other way round.
        self._waiting: dict[str, dict[str, None]] = {}
        self._missing: dict[str, Collection[str]] = {}

    def zone_of(self, name: str) -> str | None:
        """The zone that a node is in, ``""`` if it does not say, None if there is no such node."""
        node = self._nodes.get_by_key(name)
        if node is None:
            return None
        return (node.metadata.labels or {}).get(ZONE_LABEL, "")

    @property
    def awaited(self) -> dict[str, list[str]]:
        """The nodes that services wait for, and which services those are."""
        return {name: list(services) for name, services in self._waiting.items()}

    def wait_for(self, service: str, names: Collection[str]) -> None:
        """Have the service synced once there is a node of one of these names, and no longer for any other node."""
        for name in self._missing.pop(service, ()):
            services = self._waiting[name]
            del services[service]
            if not services:
                del self._waiting[name]
        for name in names:
            self._waiting.setdefault(name, {})[service] = None
        if names:
            self._missing[service] = names

    def on_add(self, node: V1Node, is_in_initial_list: bool, /) -> None:
        for service in list(self._waiting.get(node.metadata.name, ())):
            # Its sync says anew what it waits for.
            self.wait_for(service, ())
            self._queue.add(service)

    def on_update(self, old: V1Node, new: V1Node, /) -> None:
        """What changes about a node is no news to the slices: their zones are of when the endpoint was written."""

    def on_delete(self, node: V1Node | DeletedFinalStateUnknown[V1Node], /) -> None:
        """Its pods go, or have gone, and are heard of."""
