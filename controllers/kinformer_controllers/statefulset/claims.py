"""The claims of a StatefulSet's pods: one PersistentVolumeClaim for each pod and claim template.

The claim ``data`` of the pod ``web-3`` is called ``data-web-3``. It is created before the pod, and stays when the pod
is deleted, unless the retention policy says otherwise (:mod:`~kinformer_controllers.statefulset.retention`). All
functions are pure.
"""

from __future__ import annotations

import copy

from kinformer.models import (
    V1ObjectMeta,
    V1PersistentVolumeClaim,
    V1PersistentVolumeClaimVolumeSource,
    V1Pod,
    V1StatefulSet,
    V1Volume,
)
from kinformer_controllers.statefulset.identity import ordinal_of

__all__ = ("claim_name", "claims_of", "has_storage", "set_storage")


def claim_name(statefulset: V1StatefulSet, template: V1PersistentVolumeClaim, ordinal: int) -> str:
    return f"{_name(template)}-{statefulset.metadata.name}-{ordinal}"


def _name(template: V1PersistentVolumeClaim) -> str:
    """Return the template's name. It may be empty: the server accepts such a template, and refuses the claim."""
    return template.metadata.name or ""


def claims_of(statefulset: V1StatefulSet, pod: V1Pod) -> dict[str, V1PersistentVolumeClaim]:
    """Make the claims that a pod must have, by the names of their templates."""
    ordinal = ordinal_of(pod)
    selected = statefulset.spec.selector.match_labels or {}
    claims = {}
    for template in statefulset.spec.volume_claim_templates or ():
        claim = copy.copy(template)
        meta = template.metadata
        claim.metadata = V1ObjectMeta(
            name=claim_name(statefulset, template, ordinal),
            namespace=statefulset.metadata.namespace,
            labels={**(meta.labels or {}), **selected} or None,
            annotations=meta.annotations,
            finalizers=meta.finalizers,
            owner_references=meta.owner_references,
        )
        claims[_name(template)] = claim
    return claims


def has_storage(statefulset: V1StatefulSet, pod: V1Pod) -> bool:
    """Whether the pod mounts all its claims."""
    ordinal = ordinal_of(pod)
    if ordinal < 0:
        return False
    mounted = {
        volume.name: volume.persistent_volume_claim.claim_name
        for volume in (pod.spec.volumes if pod.spec is not None else None) or ()
        if volume.persistent_volume_claim is not None
    }
    return all(
        mounted.get(_name(template)) == claim_name(statefulset, template, ordinal)
        for template in statefulset.spec.volume_claim_templates or ()
    )


def set_storage(statefulset: V1StatefulSet, pod: V1Pod) -> None:
    """
    Add all its claims to a pod's volumes. A volume with the name of a claim is replaced.

    :param pod: the caller's own copy, which is changed
    """
    claims = claims_of(statefulset, pod)
    if not claims or pod.spec is None:
        return
    volumes = [
        V1Volume(
            name=name,
            persistent_volume_claim=V1PersistentVolumeClaimVolumeSource(claim_name=claim.metadata.name),
        )
        for name, claim in claims.items()
    ]
    pod.spec = copy.copy(pod.spec)
    pod.spec.volumes = [*volumes, *(volume for volume in pod.spec.volumes or () if volume.name not in claims)]
