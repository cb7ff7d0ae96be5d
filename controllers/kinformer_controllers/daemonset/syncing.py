"""Carrying out what is planned for the nodes of one DaemonSet: pods are made and deleted, and Events told.

In: names of nodes that lack a pod, and pods that are to go. Out: the writes, of which the owner expects to see each one
in its cache before it acts again.
"""

from __future__ import annotations

from collections.abc import Sequence

from kinformer.meta import meta_namespace_key, new_controller_ref
from kinformer.models import V1DaemonSet, V1Pod
from kinformer.record import NORMAL, WARNING, EventRecorder
from kinformer_controllers.daemonset.kind import KIND
from kinformer_controllers.daemonset.plan import FAILED_DAEMON_POD, Plan
from kinformer_controllers.daemonset.template import daemon_template, template_for_node
from kinformer_controllers.shared.owning.identity import owner_id
from kinformer_controllers.shared.waiting.expectations import Expectations
from kinformer_controllers.shared.writing.batches import write_children
from kinformer_controllers.shared.writing.pods import PodWriter, pod_from_template

__all__ = ("BURST_REPLICAS", "DaemonPods")

#: How many pods one sync makes, and how many it deletes, at most.
BURST_REPLICAS = 250


class DaemonPods:
    """
    Writes the pods of DaemonSets.

    :param burst: how many one sync makes, and deletes, at most
    """

    def __init__(
        self, pods: PodWriter, expectations: Expectations, recorder: EventRecorder, burst: int = BURST_REPLICAS
    ) -> None:
        self._pods = pods
        self._expectations = expectations
        self._recorder = recorder
        self._burst = burst

    def tell(self, daemonset: V1DaemonSet, plan: Plan) -> None:
        """Record Events about the pods that have ended."""
        for reason, pod, node in plan.ended:
            where = f"{pod.metadata.namespace}/{pod.metadata.name} on node {node}"
            if reason == FAILED_DAEMON_POD:
                message = f"Found failed daemon pod {where}, will try to kill it"
                self._recorder.event(daemonset, WARNING, reason, message)
            else:
                message = f"Found succeeded daemon pod {where}, will try to delete it"
                self._recorder.event(daemonset, NORMAL, reason, message)

    async def write(self, daemonset: V1DaemonSet, create: Sequence[str], delete: Sequence[V1Pod], hash_: str) -> None:
        """
        Create a pod for each of these nodes, and delete these pods.

        :param hash_: of the current template
        :raises ExceptionGroup: with each error, if there are several; else the one
        """
        template = daemon_template(daemonset, hash_)
        reference = new_controller_ref(daemonset, KIND)
        meta = daemonset.metadata

        async def create_on(node: str) -> None:
            pod = pod_from_template(template_for_node(template, node), meta.namespace, meta.name, reference)
            await self._pods.create(pod, daemonset)

        async def remove(pod: V1Pod) -> None:
            await self._pods.delete(pod.metadata.namespace, pod.metadata.name, daemonset)

        written = await write_children(
            self._expectations,
            owner_id(daemonset),
            creations=create[: self._burst],
            create=create_on,
            deletions=delete[: self._burst],
            delete=remove,
            key_of=meta_namespace_key,
        )
        if len(written.errors) > 1:
            raise ExceptionGroup(f"DaemonSet {meta.name} could not write all its pods", list(written.errors))
        if written.error is not None:
            raise written.error
