"""The nodes on which a DaemonSet runs.

:func:`placement` decides it for one node. A sync needs it for all nodes, which are mostly the same as in the last sync.
So :class:`Placements` remembers the results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from kinformer.meta import SelectorError, meta_namespace_key
from kinformer.models import V1DaemonSet, V1Node, V1PodSpec, V1Taint
from kinformer.placement.affinity import matches_node
from kinformer.placement.taints import NO_EXECUTE, find_untolerated
from kinformer_controllers.daemonset.template import with_tolerations

__all__ = ("Placement", "Placements", "placement")


class Placement(NamedTuple):
    """
    Whether a DaemonSet runs on one node.

    :ivar should_run: whether a pod should be created for the node
    :ivar should_continue: whether an existing pod may stay
    """

    should_run: bool
    should_continue: bool


_EVERYTHING_FITS = Placement(True, True)
_NEITHER = Placement(False, False)
_MAY_STAY = Placement(False, True)


def placement(daemonset: V1DaemonSet, node: V1Node) -> Placement:
    """
    Decide whether a node should run the DaemonSet's pod.

    A taint with NoSchedule does not evict an existing pod; one with NoExecute does. It does not matter whether the node
    is cordoned or not ready, because daemon pods tolerate the taints for that.
    """
    return _place_for(_pod_spec(daemonset))(node)


class Placements:
    """
    The placements of DaemonSets, as far as they were computed.

    A result for a node is used again until the cache has a new object for the node, or the DaemonSet's requirements
    change. Only the nodes of the last call are remembered.
    """

    def __init__(self) -> None:
        #: By the DaemonSet's key: its requirements, and the results by the node's name.
        self._known: dict[str, tuple[Any, dict[str, tuple[V1Node, Placement]]]] = {}

    def __len__(self) -> int:
        """Return the number of DaemonSets that are remembered."""
        return len(self._known)

    def of(self, daemonset: V1DaemonSet, nodes: Iterable[V1Node]) -> dict[str, Placement]:
        """Return the placement on each of these nodes, by the nodes' names."""
        spec = _pod_spec(daemonset)
        asked = _asked_of_nodes(spec)
        key = meta_namespace_key(daemonset)
        had = self._known.get(key)
        known = had[1] if had is not None and had[0] == asked else {}
        place = _place_for(spec)
        now = {}
        for node in nodes:
            name = node.metadata.name
            there = known.get(name)
            now[name] = there if there is not None and there[0] is node else (node, place(node))
        self._known[key] = asked, now
        return {name: placed for name, (_, placed) in now.items()}

    def forget(self, key: str) -> None:
        """Forget a DaemonSet that is gone."""
        self._known.pop(key, None)


def _pod_spec(daemonset: V1DaemonSet) -> V1PodSpec:
    spec: V1PodSpec | None = daemonset.spec.template.spec
    return spec if spec is not None else V1PodSpec(containers=[])


def _asked_of_nodes(spec: V1PodSpec) -> tuple[object, ...]:
    """Return all fields of a pod's spec on which its placement depends."""
    affinity = spec.affinity.node_affinity if spec.affinity is not None else None
    return spec.node_name, spec.node_selector, affinity, spec.tolerations, spec.host_network


def _place_for(spec: V1PodSpec) -> Callable[[V1Node], Placement]:
    tolerations = with_tolerations(spec)

    def place(node: V1Node) -> Placement:
        if spec.node_name and spec.node_name != node.metadata.name:
            return _NEITHER
        try:
            if not matches_node(spec, node):
                return _NEITHER
        except SelectorError:
            return _NEITHER
        taints: list[V1Taint] = (node.spec.taints if node.spec is not None else None) or []
        if find_untolerated(taints, tolerations) is None:
            return _EVERYTHING_FITS
        drives_off = find_untolerated(taints, tolerations, lambda taint: taint.effect == NO_EXECUTE)
        return _MAY_STAY if drives_off is None else _NEITHER

    return place
