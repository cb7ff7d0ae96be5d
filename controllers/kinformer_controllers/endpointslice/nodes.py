"""Nodes: in which zone each is, and which services wait for one that nobody has heard of yet."""

from __future__ import annotations

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
        self._waiting: dict[str, dict[str, None]] = {}

    def zone_of(self, name: str) -> str | None:
        """The zone that a node is in, ``""`` if it does not say, None if there is no such node."""
        node = self._nodes.get_by_key(name)
        if node is None:
            return None
        return (node.metadata.labels or {}).get(ZONE_LABEL, "")

    def wait_for(self, name: str, service: str) -> None:
        """Have the service synced once there is a node of that name."""
        self._waiting.setdefault(name, {})[service] = None

    def on_add(self, node: V1Node, is_in_initial_list: bool, /) -> None:
        for service in self._waiting.pop(node.metadata.name, ()):
            self._queue.add(service)

    def on_update(self, old: V1Node, new: V1Node, /) -> None:
        """What changes about a node is no news to the slices: their zones are of when the endpoint was written."""

    def on_delete(self, node: V1Node | DeletedFinalStateUnknown[V1Node], /) -> None:
        """Its pods go, or have gone, and are heard of."""
