"""Choosing the nodes that load balancers send to.

A node that is not ready is included, because the load balancer's own health checks detect this sooner. A node is
excluded if it is being deleted, if the cluster autoscaler is about to remove it, or by a label.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kinformer.models import V1Node

__all__ = ("eligible_nodes", "is_worth_a_sync", "same_nodes")

EXCLUDE: Final = "node.kubernetes.io/exclude-from-external-load-balancers"
TO_BE_DELETED: Final = "ToBeDeletedByClusterAutoscaler"
#: The texts that Go's strconv.ParseBool parses as false.
_FALSE: Final = ("0", "f", "F", "false", "FALSE", "False")


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
