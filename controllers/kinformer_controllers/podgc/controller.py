"""The pod garbage collector: checks all pods every 20 seconds, and deletes those that are garbage.

In: the caches of pods and nodes. Out: deletions without a grace period. Promised: a pod that has not ended is marked
as failed before it is deleted, so that its owner counts it as failed. Before the pods of a node are deleted, because
the node is missing or out of service, the server is asked for the node. These pods are deleted one after the other:
wrong deletions must be slow. Terminated pods are only counted while the cache is not known to be behind. An error is
counted and logged, and the pod is checked again 20 seconds later.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

import anyio
from prometheus_client import Counter

from kinformer.client import DeleteOptions, PatchType, Preconditions
from kinformer.client.errors import ClientError, Conflict, NotFound
from kinformer.controllerutil.pods import disruption_target
from kinformer.logs import get_logger
from kinformer.manager import Controller, ControllerContext
from kinformer.meta import meta_namespace_key
from kinformer.models import V1Node, V1Pod
from kinformer.workqueue import DelayingQueue
from kinformer_controllers.podgc.garbage import (
    failed_pod_patch,
    is_out_of_service,
    node_of,
    out_of_service_pods,
    surplus_terminated_pods,
    unscheduled_terminating_pods,
)
from kinformer_controllers.podgc.spec import PodGCOptions

__all__ = ("PodGCController",)

log = get_logger(__name__)

#: Seconds between two checks, and the seconds for which a node must be missing. Both are Kubernetes'.
CHECK_PERIOD: Final = 20.0
QUARANTINE: Final = 40.0
#: The largest number of concurrent deletions of terminated pods.
AT_ONCE: Final = 64
#: The only key: every sync checks all pods.
_ALL_PODS: Final = "pods"

_FORCED_DELETIONS: Final = Counter(
    "pod_gc_collector_force_delete_pods_total",
    "Number of pods that are being forcefully deleted since the Pod GC Controller started.",
    ["namespace", "reason"],
)
_FORCED_DELETION_ERRORS: Final = Counter(
    "pod_gc_collector_force_delete_pod_errors_total",
    "Number of errors encountered when forcefully deleting the pods since the Pod GC Controller started.",
    ["namespace", "reason"],
)


class PodGCController:
    """Deletes garbage."""

    def __init__(self, context: ControllerContext) -> None:
        informers = context.informers
        self._clock = context.clock
        self._threshold = context.read(PodGCOptions).terminated_pod_gc_threshold
        self._pods, self._nodes = context.client.resource(V1Pod), context.client.resource(V1Node)
        pods, nodes = informers.informer_for(V1Pod), informers.informer_for(V1Node)
        self._cached_pods, self._cached_nodes = pods, nodes
        #: The nodes that pods name and that are missing in the cache.
        self.quarantine: DelayingQueue[str] = DelayingQueue("orphaned_pods_nodes", clock=self._clock)
        self.controller = Controller("podgc", self.sync, clock=self._clock).wait_for(pods).wait_for(nodes)
        self.controller.queue.add(_ALL_PODS)

    async def sync(self, _: str) -> float:
        """
        Delete what is garbage now.

        :return: seconds until the next check
        """
        pods = self._cached_pods.indexer.list()
        nodes = {node.metadata.name: node for node in self._cached_nodes.indexer.list()}
        await self._delete_surplus(surplus_terminated_pods(pods, self._threshold))
        await self._delete_by_node(out_of_service_pods(pods, nodes), self._is_out_of_service, "out-of-service")
        missing = {node for pod in pods if (node := node_of(pod)) and node not in nodes}
        gone = self._after_quarantine(missing)
        if gone:
            await self._delete_by_node((pod for pod in pods if node_of(pod) in gone), self._is_gone, "orphaned")
        for pod in unscheduled_terminating_pods(pods):
            await _counted(pod, "unscheduled", self._fail_and_delete)
        return CHECK_PERIOD

    def _after_quarantine(self, missing: set[str]) -> set[str]:
        """
        Put nodes that are missing into quarantine.

        :return: the nodes whose quarantine is over. If one is still missing the next time, its quarantine starts again
        """
        over = set()
        while len(self.quarantine):
            over.add(node := self.quarantine.get_nowait())
            self.quarantine.done(node)
        for node in missing - over:
            self.quarantine.add_after(node, QUARANTINE)
        return missing & over

    async def _is_gone(self, node: str) -> bool:
        try:
            await self._nodes.get(node)
        except NotFound:
            return True
        return False

    async def _is_out_of_service(self, node: str) -> bool:
        try:
            return is_out_of_service(await self._nodes.get(node))
        except NotFound:
            return False  # its pods are orphaned

    async def _delete_by_node(
        self, pods: Iterable[V1Pod], is_lost: Callable[[str], Awaitable[bool]], reason: str
    ) -> None:
        """
        Delete pods one after the other, node by node.

        :param is_lost: asks the server whether a node is lost. It is called just before the node's pods are deleted,
            because the deletions before may have taken long
        """
        by_node = defaultdict(list)
        for pod in pods:
            by_node[node_of(pod)].append(pod)
        for node, its_pods in by_node.items():
            try:
                lost = await is_lost(node)
            except ClientError as error:
                # It is not known. If the node is still missing in the next round, a new quarantine starts.
                log.error("lost_node_not_checked", node=node, error=str(error))
                continue
            for pod in its_pods if lost else ():
                await _counted(pod, reason, self._fail_and_delete)

    async def _delete_surplus(self, pods: Iterable[V1Pod]) -> None:
        if not self._cached_pods.is_current:
            return  # pods that are gone would be counted, and others deleted for them
        limiter = anyio.CapacityLimiter(AT_ONCE)

        async def delete(pod: V1Pod) -> None:
            async with limiter:
                await _counted(pod, "terminated", self._fail_and_delete)

        async with anyio.create_task_group() as tasks:
            for pod in pods:
                tasks.start_soon(delete, pod)

    async def _fail_and_delete(self, pod: V1Pod, reason: str) -> None:
        """Mark a pod as failed if it has not ended, and delete it at once. It is no error if it is already gone."""
        meta, condition = pod.metadata, None
        if reason == "orphaned":
            message = "PodGC: node no longer exists"
            condition = disruption_target(pod, "DeletionByPodGC", message)
        try:
            if (patch := failed_pod_patch(pod, condition, self._clock.now())) is not None:
                await self._pods.patch(
                    meta.name, patch, meta.namespace, patch_type=PatchType.STRATEGIC, subresource="status"
                )
            # The uid is a precondition, because a StatefulSet may have created another pod with the same name.
            options = DeleteOptions(grace_period_seconds=0, preconditions=Preconditions(uid=meta.uid))
            await self._pods.delete(meta.name, meta.namespace, options)
        except (NotFound, Conflict) as error:
            log.debug("pod_gone", pod=meta_namespace_key(pod), why=str(error))


async def _counted(pod: V1Pod, reason: str, delete: Callable[[V1Pod, str], Awaitable[None]]) -> None:
    """Delete a pod and count it. Errors are counted and logged, so that the other pods are deleted, too."""
    labels = {"namespace": pod.metadata.namespace, "reason": reason}
    log.info("deleting_pod", pod=meta_namespace_key(pod), reason=reason)
    _FORCED_DELETIONS.labels(**labels).inc()
    try:
        await delete(pod, reason)
    except ClientError as error:
        _FORCED_DELETION_ERRORS.labels(**labels).inc()
        log.error("pod_not_deleted", pod=meta_namespace_key(pod), reason=reason, error=str(error))
