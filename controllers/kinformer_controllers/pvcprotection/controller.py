"""The protection of claims: a finalizer that stays while a pod uses the claim.

In: PersistentVolumeClaims and pods. Out: the finalizer is added to claims, and removed from claims that are being
deleted and are not used. Promised: before it is removed, the pods of the namespace are listed from the server, because
the cache may not have a pod that was just bound. One list answers for all claims that are being deleted then.
"""

from __future__ import annotations

from typing import Any, Final

from kinformer.cache import last_state
from kinformer.client.errors import NotFound
from kinformer.controllerutil.finalizers import (
    is_finalizer_due,
    with_finalizers,
    without_finalizers,
)
from kinformer.manager import Controller, ControllerContext
from kinformer.meta import meta_namespace_key
from kinformer.models import V1PersistentVolumeClaim, V1Pod
from kinformer_controllers.pvcprotection.usage import LiveUse, keeps_claim
from kinformer_controllers.shared.volumes.pods import add_claim_index, claims_of, is_pod_done, pods_of_claim

__all__ = ("FINALIZER", "ClaimProtection", "make_controller")

FINALIZER: Final = "kubernetes.io/pvc-protection"
#: The number of workers, as in Kubernetes.
WORKERS: Final = 30


def make_controller(context: ControllerContext) -> Controller:
    """The entry point of the protection of claims. It has no options."""
    return ClaimProtection(context).controller


class ClaimProtection:
    """Syncs claims."""

    def __init__(self, context: ControllerContext) -> None:
        informers = context.informers
        self._claims = context.client.resource(V1PersistentVolumeClaim)
        claims, pods = informers.informer_for(V1PersistentVolumeClaim), informers.informer_for(V1Pod)
        add_claim_index(pods)
        self._cached_claims, self._cached_pods = claims.indexer, pods.indexer
        self._live = LiveUse(context.client.resource(V1Pod), claims.indexer, context.clock)
        self.controller = Controller(
            "pvc-protection", self.sync, workers=WORKERS, queue_name="pvcprotection", clock=context.clock
        )
        self.controller.watch(claims, needs_a_look)
        self.pod_handler = PodHandler(self.controller.queue.add)
        self.controller.handle(pods, self.pod_handler)

    async def sync(self, key: str) -> None:
        """
        Add the finalizer to a claim, or remove it if the claim may be deleted.

        :raises ClientError: if the server refuses a request
        """
        claim = self._cached_claims.get_by_key(key)
        if claim is None or not needs_a_look(None, claim):
            return
        finalizers = claim.metadata.finalizers or []
        if claim.metadata.deletion_timestamp is None:
            await self._write(claim, [*finalizers, FINALIZER])
        elif not await self._is_used(claim):
            await self._write(claim, without_finalizers(finalizers, FINALIZER))

    async def _is_used(self, claim: V1PersistentVolumeClaim) -> bool:
        cached = pods_of_claim(self._cached_pods, meta_namespace_key(claim))
        if any(keeps_claim(pod, claim) for pod in cached):
            return True
        return await self._live.is_used(claim)

    async def _write(self, claim: V1PersistentVolumeClaim, finalizers: list[str]) -> None:
        try:
            await self._claims.update(with_finalizers(claim, finalizers))
        except NotFound:
            return  # it is gone


def needs_a_look(old: Any, claim: Any) -> bool:
    """Whether a claim lacks the finalizer, or has it and is being deleted."""
    return claim is not None and is_finalizer_due(claim, FINALIZER)


class PodHandler:
    """An event handler for pods. It queues the claims that a pod no longer uses."""

    def __init__(self, add: Any) -> None:
        self._add = add

    def on_add(self, pod: V1Pod, is_in_initial_list: bool, /) -> None:
        self._changed(pod)

    def on_update(self, old: V1Pod, new: V1Pod, /) -> None:
        self._changed(new)
        if old.metadata.uid != new.metadata.uid:
            self._freed(old)  # there is no event for its deletion

    def on_delete(self, obj: Any, /) -> None:
        obj = last_state(obj)
        if obj is not None:
            self._freed(obj)

    def _changed(self, pod: V1Pod) -> None:
        if is_pod_done(pod) or not (pod.spec is not None and pod.spec.node_name):
            self._freed(pod)

    def _freed(self, pod: V1Pod) -> None:
        for key in claims_of(pod):
            self._add(key)
