"""Event handlers that queue a DaemonSet when it, its pods, its revisions, or nodes change."""

from __future__ import annotations

from collections.abc import Callable

from kinformer.cache import NAMESPACE_INDEX, Deleted, Indexer, SharedIndexInformer, last_state
from kinformer.controllerutil.expectations import Expectations
from kinformer.controllerutil.handlers import OwnerHandler, PodHandler
from kinformer.controllerutil.owning import OwnersByReference, add_pod_node_index, controller_of
from kinformer.manager import Controller
from kinformer.meta import Selector, SelectorError, label_selector_as_selector, meta_namespace_key
from kinformer.models import V1ControllerRevision, V1DaemonSet, V1Node, V1Pod
from kinformer_controllers.daemonset.kind import KIND
from kinformer_controllers.daemonset.nodes import NodeHandler

__all__ = ("DaemonSetWatches", "RevisionHandler")


class DaemonSetWatches:
    """
    The event handlers of the DaemonSet controller.

    :param controller: the controller whose queue gets the keys
    :param forget: called with the key and the uid of each DaemonSet that is gone
    """

    def __init__(
        self,
        controller: Controller,
        daemonsets: SharedIndexInformer[V1DaemonSet],
        expectations: Expectations,
        forget: Callable[[str, str], object],
    ) -> None:
        self._controller = controller
        self._daemonsets = daemonsets
        self._expectations = expectations
        self._forget = forget

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
        controller, queue, indexer = self._controller, self._controller.queue, self._daemonsets.indexer
        owners = OwnersByReference(
            V1DaemonSet, KIND.kind, indexer, _selects_pod, lambda one: one.spec.min_ready_seconds
        )
        add_pod_node_index(pods)
        controller.handle(self._daemonsets, OwnerHandler(queue.add, self._expectations.forget, self._forget))
        controller.handle(pods, PodHandler(queue, self._expectations, owners))
        controller.handle(revisions, RevisionHandler(indexer, queue.add))
        controller.wait_for(nodes)
        node_updates.handle(nodes, NodeHandler(node_updates.queue))


class RevisionHandler:
    """
    An event handler for ControllerRevisions. It queues the DaemonSet of a revision, or those that might adopt it.

    :param add: called with the key; usually a queue's ``add``
    """

    def __init__(self, daemonsets: Indexer[V1DaemonSet], add: Callable[[str], object]) -> None:
        self._daemonsets = daemonsets
        self._add = add

    def on_add(self, obj: V1ControllerRevision, is_in_initial_list: bool, /) -> None:
        if obj.metadata.deletion_timestamp:
            self._wake(obj)
        elif controller_of(obj) is None:
            self._offer(obj)

    def on_update(self, old: V1ControllerRevision, new: V1ControllerRevision, /) -> None:
        if old.metadata.resource_version == new.metadata.resource_version:
            return  # a resync
        before, after = controller_of(old), controller_of(new)
        if before != after:
            self._wake(old)
        if after is not None:
            self._wake(new)
        elif before is not None or (old.metadata.labels or {}) != (new.metadata.labels or {}):
            self._offer(new)

    def on_delete(self, obj: Deleted[V1ControllerRevision], /) -> None:
        revision = last_state(obj)
        if revision is not None:
            self._wake(revision)

    def _wake(self, revision: V1ControllerRevision) -> None:
        """Queue the revision's DaemonSet, if it has one."""
        reference = controller_of(revision)
        if reference is None or reference.kind != KIND.kind:
            return
        key = f"{revision.metadata.namespace}/{reference.name}"
        daemonset = self._daemonsets.get_by_key(key)
        if daemonset is not None and daemonset.metadata.uid == reference.uid:
            self._add(key)

    def _offer(self, revision: V1ControllerRevision) -> None:
        for daemonset in self._daemonsets.by_index(NAMESPACE_INDEX, revision.metadata.namespace):
            selector = _selector(daemonset)
            if selector is not None and selector.matches(revision.metadata.labels):
                self._add(meta_namespace_key(daemonset))


def _selects_pod(daemonset: V1DaemonSet, pod: V1Pod) -> bool:
    selector = _selector(daemonset)
    return selector is not None and selector.matches(pod.metadata.labels)


def _selector(daemonset: V1DaemonSet) -> Selector | None:
    """Return the selector; None if it is empty or invalid, because such a DaemonSet adopts nothing."""
    try:
        selector = label_selector_as_selector(daemonset.spec.selector)
    except SelectorError:
        return None
    return selector if not selector.is_empty else None
