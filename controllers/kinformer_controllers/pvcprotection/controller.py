"""The protection of claims: a finalizer that stays while a pod uses the claim.

In: PersistentVolumeClaims and pods. Out: the finalizer is added to claims, and removed from claims that are being
deleted and are not used. Promised: before it is removed, the pods of the namespace are listed from the server, because
the cache may not have a pod that was just bound. One list answers for all claims that are being deleted then.
"""

from __future__ import annotations

from typing import Final

from kinformer.manager import ControllerContext
from kinformer.meta import meta_namespace_key
from kinformer.models import V1PersistentVolumeClaim, V1Pod
from kinformer_controllers.pvcprotection.usage import LiveUse, keeps_claim
from kinformer_controllers.shared.protection import FreedHandler, Protection
from kinformer_controllers.shared.volumes.pods import add_claim_index, claims_of, is_pod_done, pods_of_claim

__all__ = ("FINALIZER", "ClaimProtection")

FINALIZER: Final = "kubernetes.io/pvc-protection"


class ClaimProtection(Protection[V1PersistentVolumeClaim]):
    """Syncs claims."""

    kind, name, finalizer, workers = V1PersistentVolumeClaim, "pvc-protection", FINALIZER, 30

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        pods = context.informers.informer_for(V1Pod)
        add_claim_index(pods)
        self._cached_pods = pods.indexer
        self._live = LiveUse(context.client.resource(V1Pod), self._cached, context.clock)
        self.pod_handler = FreedHandler(self.controller.queue.add, claims_of, _keeps_nothing)
        self.controller.handle(pods, self.pod_handler)

    async def is_used(self, claim: V1PersistentVolumeClaim) -> bool:
        cached = pods_of_claim(self._cached_pods, meta_namespace_key(claim))
        if any(keeps_claim(pod, claim) for pod in cached):
            return True
        return await self._live.is_used(claim)


def _keeps_nothing(pod: V1Pod) -> bool:
    return is_pod_done(pod) or not (pod.spec is not None and pod.spec.node_name)
