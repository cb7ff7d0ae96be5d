"""Deciding whether a pod uses a claim, so that the claim must stay."""

from __future__ import annotations

from kinformer.models import V1PersistentVolumeClaim, V1Pod
from kinformer_controllers.shared.owning.owners import controller_of

__all__ = ("keeps_claim",)


def keeps_claim(pod: V1Pod, claim: V1PersistentVolumeClaim) -> bool:
    """
    Whether a pod keeps a claim from being deleted.

    A pod that is not bound to a node does not: its kubelet will refuse a claim that is being deleted. The claim of an
    ephemeral volume is kept only by its own pod, and only until the kubelet has shut the pod down. Otherwise pod and
    claim would wait for each other.
    """
    spec, name = pod.spec, claim.metadata.name
    if spec is None or not spec.node_name or pod.metadata.namespace != claim.metadata.namespace:
        return False
    for volume in spec.volumes or ():
        if volume.persistent_volume_claim is not None:
            if volume.persistent_volume_claim.claim_name == name:
                return True
        elif volume.ephemeral is not None and f"{pod.metadata.name}-{volume.name}" == name:
            owner = controller_of(claim)
            if owner is not None and owner.uid == pod.metadata.uid and not _is_shut_down(pod):
                return True
    return False


def _is_shut_down(pod: V1Pod) -> bool:
    """Whether the kubelet has shut a pod down, or the pod was force-deleted."""
    meta = pod.metadata
    return meta.deletion_timestamp is not None and meta.deletion_grace_period_seconds == 0
