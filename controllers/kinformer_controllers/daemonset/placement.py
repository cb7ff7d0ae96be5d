"""On which nodes a DaemonSet runs.

:func:`placement` tells it of one node. A sync asks about all nodes, and nearly always about the same ones as the sync
before: :class:`Placements` remembers what it has found out.
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
    :ivar should_run: whether a pod is to be started on the node
    :ivar should_continue: whether a pod that is there may stay
    """

    should_run: bool
    should_continue: bool


_EVERYTHING_FITS = Placement(True, True)
_NEITHER = Placement(False, False)
_MAY_STAY = Placement(False, True)


def placement(daemonset: V1DaemonSet, node: V1Node) -> Placement:
    """
    Whether a node is to run the DaemonSet's pod.

    A taint that forbids scheduling does not drive off a pod that is there; one that forbids execution does. That a
    node is cordoned, or ill, changes nothing: daemon pods tolerate it.
    """
    return _place_for(_pod_spec(daemonset))(node)


class Placements:
    """
    Where DaemonSets run, as far as it was asked for.

    What was found out of a node counts until the node is another object in the cache, or the DaemonSet asks for other
    nodes. Only the nodes of the last question are remembered.
    """

    def __init__(self) -> None:
        #: By the DaemonSet's key: what it asks of nodes, and what came of it by the node's name.
        self._known: dict[str, tuple[Any, dict[str, tuple[V1Node, Placement]]]] = {}

    def __len__(self) -> int:
        """How many DaemonSets are remembered."""
        return len(self._known)

    def of(self, daemonset: V1DaemonSet, nodes: Iterable[V1Node]) -> dict[str, Placement]:
        """The placement on each of these nodes, by their names."""
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
        """Drop what is remembered of a DaemonSet that is gone."""
        self._known.pop(key, None)


def _pod_spec(daemonset: V1DaemonSet) -> V1PodSpec:
    spec: V1PodSpec | None = daemonset.spec.template.spec
    return spec if spec is not None else V1PodSpec(containers=[])


def _asked_of_nodes(spec: V1PodSpec) -> tuple[object, ...]:
    """All by which a pod's spec decides on nodes."""
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
