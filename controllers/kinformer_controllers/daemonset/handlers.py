"""Event handlers that queue a DaemonSet when it, its pods, its revisions, or nodes change.

In a large cluster, nodes change all the time. So changed nodes have a queue of their own, and only changes of labels
and taints count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from kinformer.cache import NAMESPACE_INDEX, Indexer, SharedIndexInformer
from kinformer.controllerutil.expectations import Expectations
from kinformer.controllerutil.handlers import OwnerHandler, PodHandler
from kinformer.controllerutil.owning import (
    POD_NODE_INDEX,
    OwnersByReference,
    add_pod_node_index,
    controller_of,
    selects,
)
from kinformer.manager import Controller
from kinformer.meta import meta_namespace_key
from kinformer.models import V1ControllerRevision, V1DaemonSet, V1Node, V1Pod
from kinformer_controllers.daemonset.placement import placement
from kinformer_controllers.daemonset.template import KIND

__all__ = (
    "DaemonSetWatches",
    "NodeUpdates",
    "concerned",
    "is_news_of_node",
)


@dataclass(eq=False, slots=True)
class DaemonSetWatches:
    """
    The event handlers of the DaemonSet controller.

    :param controller: the controller whose queue gets the keys
    """

    controller: Controller
    daemonsets: SharedIndexInformer[V1DaemonSet]
    expectations: Expectations

    def attach(
        self,
        pods: SharedIndexInformer[V1Pod],
        revisions: SharedIndexInformer[V1ControllerRevision],
        nodes: SharedIndexInformer[V1Node],
        node_updates: Controller,
    ) -> None:
        """
        Add the event handlers to these informers.

        :param node_updates: the controller for changed nodes; the DaemonSet controller only waits for their first list
        """
        controller, queue, indexer = self.controller, self.controller.queue, self.daemonsets.indexer
        owners = OwnersByReference(
            V1DaemonSet, KIND.kind, indexer, min_ready_seconds=lambda one: one.spec.min_ready_seconds
        )
        add_pod_node_index(pods)
        controller.handle(self.daemonsets, OwnerHandler(queue.add, self.expectations.forget))
        controller.handle(pods, PodHandler(queue, self.expectations, owners))
        controller.watch_owned(revisions, V1DaemonSet, _concerns_owner)
        controller.watch_mapped(revisions, self._adopters_of, _is_orphaned)
        controller.wait_for(nodes)
        node_updates.watch(nodes, is_news_of_node)

    def _adopters_of(self, revision: V1ControllerRevision) -> list[str]:
        """Return the keys of the DaemonSets that select a revision."""
        there = self.daemonsets.indexer.by_index(NAMESPACE_INDEX, revision.metadata.namespace)
        return [meta_namespace_key(daemonset) for daemonset in there if selects(daemonset.spec.selector, revision)]


def _concerns_owner(old: V1ControllerRevision | None, new: V1ControllerRevision | None) -> bool:
    """Whether a change of a revision concerns its DaemonSet. One that is new was made by this controller."""
    if old is None:
        return new is not None and new.metadata.deletion_timestamp is not None
    return new is None or old.metadata.resource_version != new.metadata.resource_version


def _is_orphaned(old: V1ControllerRevision | None, new: V1ControllerRevision | None) -> bool:
    """Whether a DaemonSet may adopt a revision now."""
    if new is None or controller_of(new) is not None:
        return False
    if old is None:
        return not new.metadata.deletion_timestamp
    return controller_of(old) is not None or (old.metadata.labels or {}) != (new.metadata.labels or {})


def is_news_of_node(old: V1Node | None, new: V1Node | None) -> bool:
    """
    Whether a node is new, or has other labels or taints.

    The pods of a node that is gone are left to the pod garbage collector.
    """
    if old is None or new is None:
        return new is not None
    return (old.metadata.labels or {}) != (new.metadata.labels or {}) or _taints(old) != _taints(new)


@dataclass(eq=False, slots=True)
class NodeUpdates:
    """
    Queues the DaemonSets that a changed node concerns.

    :param pods: the cache of pods, with its index by node
    :param add: called with the key of each such DaemonSet
    """

    nodes: Indexer[V1Node]
    daemonsets: Indexer[V1DaemonSet]
    pods: Indexer[V1Pod]
    add: Callable[[str], object]

    async def sync(self, name: str) -> None:
        """Sync one node. A node that is gone is ignored: the pod garbage collector deletes its pods."""
        node = self.nodes.get_by_key(name)
        if node is not None:
            for key in concerned(node, self.daemonsets.list(), self.pods):
                self.add(key)


def concerned(node: V1Node, daemonsets: Iterable[V1DaemonSet], pods: Indexer[V1Pod]) -> list[str]:
    """
    Return the keys of the DaemonSets that have to create or delete a pod on a node.

    :param pods: the cache of pods, with its index by node
    """
    theirs = set()
    for pod in pods.by_index(POD_NODE_INDEX, node.metadata.name):
        reference = controller_of(pod)
        if reference is not None and reference.kind == KIND.kind:
            theirs.add(f"{pod.metadata.namespace}/{reference.name}")
    keys = []
    for daemonset in daemonsets:
        key = meta_namespace_key(daemonset)
        should_run, should_continue = placement(daemonset, node)
        scheduled = key in theirs
        misscheduled = (daemonset.status.number_misscheduled if daemonset.status is not None else 0) or 0
        if (should_run and not scheduled) or (scheduled and (not should_continue or misscheduled > 0)):
            keys.append(key)
    return keys


def _taints(node: V1Node) -> list[object]:
    return list((node.spec.taints if node.spec is not None else None) or ())
