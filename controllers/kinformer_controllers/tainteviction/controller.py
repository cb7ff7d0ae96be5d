"""The taint eviction controller, as kube-controller-manager has it.

In: pods and nodes. Out: the DisruptionTarget condition and the deletion of pods that do not tolerate a NoExecute taint.
Promised: a pod is not deleted before its tolerations end; it is not deleted if the taint is removed before, also if the
cache does not show that yet: pod and node are read from the server before; another pod with the same name is never
deleted.

Nodes whose NoExecute taints have changed have a queue of their own; a worker queues the pods of each. A pod that
changes is queued if its node has such taints, or if it is to be evicted. Pods wait in their queue, which has one timer.
A pod is checked again when its time has come, so it stays if its taint was just removed.
"""

from __future__ import annotations

from typing import Final

from prometheus_client import Counter, Histogram

from kinformer.client import DeleteOptions, Preconditions
from kinformer.client.errors import NotFound
from kinformer.controllerutil.owning import POD_NODE_INDEX, add_pod_node_index
from kinformer.controllerutil.pods import disruption_target, pod_condition_patch
from kinformer.manager import Controller, ControllerContext, Group
from kinformer.meta import meta_namespace_key, split_key
from kinformer.models import V1Node, V1ObjectReference, V1Pod
from kinformer.record import NORMAL
from kinformer_controllers.shared.taints import no_execute_taints
from kinformer_controllers.tainteviction.decision import Eviction, decide

__all__ = ("TaintEvictionController",)

#: The source component of its Events.
_COMPONENT: Final = "taint-eviction-controller"
#: Kubernetes' UpdateWorkerSize.
_WORKERS: Final = 8

_POD_DELETIONS = Counter(
    "taint_eviction_controller_pod_deletions_total",
    "Total number of Pods deleted by TaintEvictionController since its start.",
)
_POD_DELETION_SECONDS = Histogram(
    "taint_eviction_controller_pod_deletion_duration_seconds",
    "Latency, in seconds, between the time when a taint effect has been activated for the Pod and its deletion via "
    "TaintEvictionController.",
    buckets=(0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 30, 60, 120, 180, 240),
)


class TaintEvictionController(Group):
    """Deletes pods that do not, or no longer, tolerate the NoExecute taints of their node."""

    def __init__(self, context: ControllerContext) -> None:
        informers = context.informers
        self._clock = context.clock
        self._server, self._node_server = context.client.resource(V1Pod), context.client.resource(V1Node)
        self._recorder = context.recorder(_COMPONENT)
        pods, nodes = informers.informer_for(V1Pod), informers.informer_for(V1Node)
        add_pod_node_index(pods)
        self._pods, self._nodes = pods.indexer, nodes.indexer
        #: The pods that have to be evicted and are not deleted yet, by key.
        self.waiting: dict[str, Eviction] = {}
        #: The keys of those for which the Event was recorded and the deletion has failed.
        self._told: set[str] = set()
        self.pods = Controller(
            _COMPONENT, self.sync, workers=_WORKERS, queue_name="noexec_taint_pod", clock=self._clock
        )
        self.pods.watch(pods, self._concerns_a_pod).wait_for(nodes)
        # It writes nothing, so each shard does it for its own pods.
        self.nodes = Controller(
            f"{_COMPONENT}-nodes", self.queue_pods, queue_name="noexec_taint_node", shard_by=None, clock=self._clock
        )
        self.nodes.watch(nodes, _changes_taints).wait_for(pods)
        super().__init__(self.pods, self.nodes)

    def _concerns_a_pod(self, old: V1Pod | None, new: V1Pod | None) -> bool:
        """
        Whether a pod is new or gone, or its node or its tolerations have changed, and this can concern its eviction.

        That is so if the pod is to be evicted already, or if its node has NoExecute taints. When a node gets such
        taints, its pods are queued. So the first list of pods costs no syncs where no node has taints.
        """
        if (
            old is not None
            and new is not None
            and old.metadata.uid == new.metadata.uid
            and old.spec.node_name == new.spec.node_name
            and old.spec.tolerations == new.spec.tolerations
        ):
            return False
        if self.waiting and meta_namespace_key(old if new is None else new) in self.waiting:
            return True
        if new is None or not new.spec.node_name:
            return False
        node = self._nodes.get_by_key(new.spec.node_name)
        return node is not None and bool(no_execute_taints(node.spec.taints))

    async def queue_pods(self, node: str) -> None:
        """Queue the pods of a node whose NoExecute taints have changed."""
        for key in self._pods.index_keys(POD_NODE_INDEX, node):
            self.pods.queue.add(key)

    async def sync(self, key: str) -> float | None:
        """
        Decide whether a pod has to be evicted, and delete it if its time is over.

        :return: seconds until its time is over; None if it stays or was deleted
        """
        pod = self._pods.get_by_key(key)
        waiting = self.waiting.get(key)
        if waiting is not None and (pod is None or pod.metadata.uid != waiting.uid):
            self._cancel(key)
            waiting = None
        if pod is None or not pod.spec.node_name:
            return None
        node = self._nodes.get_by_key(pod.spec.node_name)
        if node is None:  # the node is not in the cache yet, or is gone; the last decision stays
            eviction = waiting
        else:
            eviction = self._decide(pod, node, waiting)
        if waiting is not None and eviction is not waiting:
            self._cancel(key)
        if eviction is None:
            return None
        self.waiting[key] = eviction
        if (left := eviction.due - self._clock.monotonic()) > 0:
            return left
        return await self._evict(key, eviction)

    def _decide(self, pod: V1Pod, node: V1Node, waiting: Eviction | None) -> Eviction | None:
        taints = no_execute_taints(node.spec.taints)
        return decide(pod.metadata.uid, pod.spec.tolerations, taints, waiting, self._clock.monotonic())

    def _cancel(self, key: str) -> None:
        del self.waiting[key]
        self._told.discard(key)
        self._record(key, f"Cancelling deletion of Pod {key}")

    async def _evict(self, key: str, eviction: Eviction) -> float | None:
        """
        Delete a pod, if the server says that it still has to go. After an error, the queue retries.

        :return: seconds until its time is over, if it has got more; otherwise None
        """
        namespace, name = split_key(key)
        try:
            pod = await self._server.get(name, namespace)
            if pod.metadata.uid == eviction.uid:
                now = await self._decide_live(pod, eviction)
                if now is not eviction and (now is None or now.due > self._clock.monotonic()):
                    self._cancel(key)
                    if now is None:
                        return None
                    self.waiting[key] = now
                    return now.due - self._clock.monotonic()
                if key not in self._told:
                    self._told.add(key)
                    self._record(key, f"Marking for deletion Pod {key}")
                await self._delete(pod)
                _POD_DELETIONS.inc()
                _POD_DELETION_SECONDS.observe(self._clock.monotonic() - eviction.due)
        except NotFound:
            pass  # the pod is already gone
        del self.waiting[key]
        self._told.discard(key)
        return None

    async def _decide_live(self, pod: V1Pod, eviction: Eviction) -> Eviction | None:
        """Decide by the server's node. If it is gone, the last decision stays."""
        try:
            node = await self._node_server.get(pod.spec.node_name or "")
        except NotFound:
            return eviction
        return self._decide(pod, node, eviction)

    async def _delete(self, pod: V1Pod) -> None:
        meta = pod.metadata
        condition = disruption_target(pod, "DeletionByTaintManager", "Taint manager: deleting due to NoExecute taint")
        patch = pod_condition_patch(pod, condition, self._clock.now())
        if patch is not None:
            await self._server.patch(meta.name, patch, meta.namespace, subresource="status")
        await self._server.delete(meta.name, meta.namespace, DeleteOptions(preconditions=Preconditions(uid=meta.uid)))

    def _record(self, key: str, message: str) -> None:
        """Record an Event about a pod. It does not name the pod's uid, as in Kubernetes."""
        namespace, name = split_key(key)
        pod = V1ObjectReference(api_version="v1", kind="Pod", name=name, namespace=namespace)
        self._recorder.event(pod, NORMAL, "TaintManagerEviction", message)


def _changes_taints(old: V1Node | None, new: V1Node | None) -> bool:
    """Whether the NoExecute taints of a node have changed. The pods of a node that is gone are for podgc."""
    if new is None:
        return False
    before = no_execute_taints(old.spec.taints) if old is not None else []
    return no_execute_taints(new.spec.taints) != before
