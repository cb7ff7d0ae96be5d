"""The ephemeral volume controller: a PersistentVolumeClaim for each ephemeral volume of a pod.

In: pods and PersistentVolumeClaims. Out: claims, each controlled by its pod, so that the garbage collector deletes them
with the pod. Promised: a claim of that name that does not belong to the pod is never changed. An Event says so instead,
and the pod does not start. A claim that is deleted while its pod exists is made again.
"""

from __future__ import annotations

from typing import Any, Final

from prometheus_client import Counter

from kinformer.client.errors import ClientError
from kinformer.manager import Controller, ControllerContext, SyncError
from kinformer.meta import is_controlled_by, meta_namespace_key, new_controller_ref
from kinformer.models import V1ObjectMeta, V1PersistentVolumeClaim, V1Pod, V1Volume
from kinformer.record import WARNING
from kinformer_controllers.ephemeralvolume.spec import EphemeralVolumeOptions
from kinformer_controllers.shared.volumes.pods import add_claim_index, pods_of_claim, uses_ephemeral_volume

__all__ = ("EphemeralVolumes",)

_CREATED: Final = Counter(
    "ephemeral_volume_controller_create", "Number of PersistentVolumeClaim creation requests, also of those that failed"
)
_FAILED: Final = Counter(
    "ephemeral_volume_controller_create_failures", "Number of PersistentVolumeClaim creation requests that failed"
)


def _has_ephemeral_volume(pod: V1Pod) -> bool:
    """Whether a pod that is not being deleted has an ephemeral volume."""
    return pod.metadata.deletion_timestamp is None and uses_ephemeral_volume(pod)


def _claim_for(pod: V1Pod, volume: V1Volume) -> V1PersistentVolumeClaim:
    """Make the claim of an ephemeral volume. It is named after the pod and the volume."""
    assert volume.ephemeral is not None
    template: Any = volume.ephemeral.volume_claim_template
    about = template.metadata
    meta = V1ObjectMeta(
        name=f"{pod.metadata.name}-{volume.name}",
        namespace=pod.metadata.namespace,
        labels=about.labels if about is not None else None,
        annotations=about.annotations if about is not None else None,
        owner_references=[new_controller_ref(pod)],
    )
    return V1PersistentVolumeClaim(metadata=meta, spec=template.spec)


class EphemeralVolumes:
    """Syncs pods."""

    def __init__(self, context: ControllerContext) -> None:
        pods, claims = context.informers.informer_for(V1Pod), context.informers.informer_for(V1PersistentVolumeClaim)
        add_claim_index(pods)
        self._pods, self._claims = pods.indexer, claims.indexer
        self._server = context.client.resource(V1PersistentVolumeClaim)
        self._events = context.recorder("ephemeral_volume")
        self.controller = Controller(
            "ephemeral-volume",
            self.sync,
            workers=context.read(EphemeralVolumeOptions).concurrent_ephemeralvolume_syncs,
            queue_name="ephemeral_volume",
            clock=context.clock,
        )
        # The volumes of a pod cannot be changed, so only a new pod counts. Its claims go with it.
        self.controller.watch(pods, _is_new)
        self.controller.watch_mapped(claims, self._pods_without, _is_gone)

    async def sync(self, key: str) -> None:
        """
        Make the claims that a pod lacks, in the order of its volumes.

        :raises ClientError: if the server refuses a claim. An Event of the pod says why
        :raises SyncError: if a claim belongs to somebody else. An Event of the pod says so
        """
        pod = self._pods.get_by_key(key)
        if pod is None or not _has_ephemeral_volume(pod):
            return
        assert pod.spec is not None
        for volume in pod.spec.volumes or ():
            if volume.ephemeral is not None:
                await self._handle(pod, volume)

    async def _handle(self, pod: V1Pod, volume: V1Volume) -> None:
        claim = _claim_for(pod, volume)
        cached = self._claims.get_by_key(meta_namespace_key(claim))
        if cached is None:
            await self._create(pod, volume, claim)
        elif not is_controlled_by(cached, pod.metadata.uid):
            name, of = meta_namespace_key(claim), meta_namespace_key(pod)
            why = f"PVC {name} was not created for pod {of} (pod is not owner)"
            self._complain(pod, volume, why)
            raise SyncError(f"pod {of}, ephemeral volume {volume.name}: {why}")

    async def _create(self, pod: V1Pod, volume: V1Volume, claim: V1PersistentVolumeClaim) -> None:
        _CREATED.inc()
        try:
            await self._server.create(claim)
        except ClientError as error:
            _FAILED.inc()
            self._complain(pod, volume, f"create PVC {claim.metadata.name}: {error}")
            raise

    def _complain(self, pod: V1Pod, volume: V1Volume, why: str) -> None:
        self._events.event(pod, WARNING, "FailedBinding", f"ephemeral volume {volume.name}: {why}")

    def _pods_without(self, claim: V1PersistentVolumeClaim) -> list[str]:
        """The pods for which a claim that is gone has to be made again."""
        found = pods_of_claim(self._pods, meta_namespace_key(claim))
        return [meta_namespace_key(pod) for pod in found if _has_ephemeral_volume(pod)]


def _is_new(old: V1Pod | None, new: V1Pod | None) -> bool:
    """Whether a pod with an ephemeral volume is new, also if it replaced one of its name while nobody watched."""
    is_same = old is not None and new is not None and old.metadata.uid == new.metadata.uid
    return new is not None and not is_same and _has_ephemeral_volume(new)


def _is_gone(old: Any, new: Any) -> bool:
    return new is None
