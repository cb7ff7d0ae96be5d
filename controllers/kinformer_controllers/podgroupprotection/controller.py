"""The protection of PodGroups: a finalizer that stays while a pod of the group has not ended.

In: PodGroups and pods. Out: the finalizer is removed from PodGroups that are being deleted and have no such pod. The
API server adds it to each new PodGroup (its admission plug-in PodGroupProtection). Promised: before the finalizer is
removed, the pods of the namespace are listed from the server, because the cache may not have a pod that was just made.
"""

from __future__ import annotations

from typing import Final

from kinformer.controllerutil.pods import is_pod_terminal
from kinformer.manager import ControllerContext
from kinformer.meta import meta_namespace_key
from kinformer.models import V1alpha2PodGroup, V1Pod
from kinformer_controllers.shared.devices import GROUP_INDEX, add_group_index, group_of_pod, groups_of_pod
from kinformer_controllers.shared.gates import Gates
from kinformer_controllers.shared.options import GateOptions
from kinformer_controllers.shared.protection import FreedHandler, Protection

__all__ = ("FINALIZER", "PodGroupProtection")

FINALIZER: Final = "scheduling.k8s.io/podgroup-protection"


class PodGroupProtection(Protection[V1alpha2PodGroup]):
    """
    Syncs PodGroups that are being deleted.

    :raises ControllerDisabled: if the feature gate GenericWorkload is off
    """

    kind, name, finalizer, adds = V1alpha2PodGroup, "podgroup-protection", FINALIZER, False

    def __init__(self, context: ControllerContext) -> None:
        Gates(context.read(GateOptions).feature_gates).require("GenericWorkload")
        super().__init__(context)
        pods = context.informers.informer_for(V1Pod)
        add_group_index(pods)
        self._pod_server, self._cached_pods = context.client.resource(V1Pod), pods.indexer
        self.controller.handle(pods, FreedHandler(self.controller.queue.add, groups_of_pod, is_pod_terminal))

    async def is_used(self, group: V1alpha2PodGroup) -> bool:
        key = meta_namespace_key(group)
        if not all(map(is_pod_terminal, self._cached_pods.by_index(GROUP_INDEX, key))):
            return True
        pods = (await self._pod_server.list(group.metadata.namespace)).items
        return any(group_of_pod(pod) == key and not is_pod_terminal(pod) for pod in pods)
