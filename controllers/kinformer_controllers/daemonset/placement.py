"""On which nodes a DaemonSet runs. Pure functions of a DaemonSet and a node."""

from __future__ import annotations

from typing import NamedTuple

from kinformer.meta import SelectorError
from kinformer.models import V1DaemonSet, V1Node, V1Taint
from kinformer.placement.affinity import matches_node
from kinformer.placement.taints import NO_EXECUTE, find_untolerated
from kinformer_controllers.daemonset.template import with_tolerations

__all__ = ("Placement", "placement")


class Placement(NamedTuple):
    """
    :ivar should_run: whether a pod is to be started on the node
    :ivar should_continue: whether a pod that is there may stay
    """

    should_run: bool
    should_continue: bool


def placement(daemonset: V1DaemonSet, node: V1Node) -> Placement:
    """
    Whether a node is to run the DaemonSet's pod.

    A taint that forbids scheduling does not drive off a pod that is there; one that forbids execution does. That a
    node is cordoned, or ill, changes nothing: daemon pods tolerate it.
    """
    spec = daemonset.spec.template.spec
    assert spec is not None
    if spec.node_name and spec.node_name != node.metadata.name:
        return Placement(False, False)
    try:
        if not matches_node(spec, node):
            return Placement(False, False)
    except SelectorError:
        return Placement(False, False)
    taints: list[V1Taint] = (node.spec.taints if node.spec is not None else None) or []
    if not taints:
        return Placement(True, True)
    tolerations = with_tolerations(spec)
    if find_untolerated(taints, tolerations) is None:
        return Placement(True, True)
    drives_off = find_untolerated(taints, tolerations, lambda taint: taint.effect == NO_EXECUTE)
    return Placement(False, drives_off is None)
