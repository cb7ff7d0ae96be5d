"""The pods of a StatefulSet: the identity of each, its claims, and how it is made. Pure functions.

The pod ``web-3`` has the ordinal 3 in the StatefulSet ``web``; its name, labels and host name follow from that. It has
one PersistentVolumeClaim for each claim template: the claim ``data`` is called ``data-web-3``. A claim is created
before its pod, and stays when the pod is deleted, unless the retention policy says otherwise
(:mod:`~kinformer_controllers.statefulset.retention`). A pod is made from the right one of two revisions.
"""

from __future__ import annotations

import copy
import re
from dataclasses import dataclass
from typing import Final

from kinformer.controllerutil.pod_control import pod_from_template
from kinformer.meta import GroupVersionKind, new_controller_ref
from kinformer.meta.integers import read_integer
from kinformer.models import (
    V1ObjectMeta,
    V1PersistentVolumeClaim,
    V1PersistentVolumeClaimVolumeSource,
    V1Pod,
    V1StatefulSet,
    V1Volume,
)

__all__ = (
    "KIND",
    "Version",
    "claim_name",
    "claims_of",
    "has_identity",
    "has_storage",
    "is_in_range",
    "is_member",
    "new_pod",
    "ordinal_of",
    "parent_and_ordinal",
    "pod_for_ordinal",
    "replicas_of",
    "revision_of",
    "set_identity",
    "set_storage",
    "start_ordinal",
)

_POD_NAME_LABEL: Final = "statefulset.kubernetes.io/pod-name"
_POD_INDEX_LABEL: Final = "apps.kubernetes.io/pod-index"
_REVISION_LABEL: Final = "controller-revision-hash"

_POD_NAME: Final = re.compile(r"(.*)-([0-9]+)", re.DOTALL | re.ASCII)

KIND = GroupVersionKind("apps", "v1", "StatefulSet")


def parent_and_ordinal(name: str) -> tuple[str, int]:
    """Return the StatefulSet's name and the ordinal in a pod's name; ``("", -1)`` if the name has no ordinal."""
    match = _POD_NAME.fullmatch(name)
    if match is None:
        return "", -1
    # A number that does not fit into Kubernetes' int32 is not an ordinal.
    ordinal = read_integer(match[2], 32)
    return match[1], ordinal if ordinal is not None else -1


def ordinal_of(pod: V1Pod) -> int:
    """Return the pod's ordinal; -1 if its name has none."""
    return parent_and_ordinal(pod.metadata.name or "")[1]


def is_member(statefulset: V1StatefulSet, pod: V1Pod) -> bool:
    """Whether the pod has a name of the StatefulSet's pods."""
    return parent_and_ordinal(pod.metadata.name or "")[0] == statefulset.metadata.name


def replicas_of(statefulset: V1StatefulSet) -> int:
    """Return the number of replicas in the spec; 1 if it is not set, as the server's default."""
    replicas = statefulset.spec.replicas
    return 1 if replicas is None else replicas


def start_ordinal(statefulset: V1StatefulSet) -> int:
    """Return the lowest ordinal: ``spec.ordinals.start``, or 0."""
    ordinals = statefulset.spec.ordinals
    return (ordinals.start or 0) if ordinals is not None else 0


def is_in_range(statefulset: V1StatefulSet, pod: V1Pod) -> bool:
    """Whether the pod's ordinal is in the StatefulSet's range."""
    start = start_ordinal(statefulset)
    return start <= ordinal_of(pod) < start + replicas_of(statefulset)


def _pod_name(statefulset: V1StatefulSet, ordinal: int) -> str:
    return f"{statefulset.metadata.name}-{ordinal}"


def has_identity(statefulset: V1StatefulSet, pod: V1Pod) -> bool:
    """Whether the pod's name, namespace and label are correct."""
    meta = pod.metadata
    return (
        meta.name == _pod_name(statefulset, ordinal_of(pod))
        and meta.namespace == statefulset.metadata.namespace
        and (meta.labels or {}).get(_POD_NAME_LABEL) == meta.name
    )


def set_identity(statefulset: V1StatefulSet, pod: V1Pod, ordinal: int) -> None:
    """
    Set the name and the labels of an ordinal.

    :param pod: the caller's own copy, which is changed
    """
    meta = pod.metadata
    meta.name = _pod_name(statefulset, ordinal)
    meta.namespace = statefulset.metadata.namespace
    meta.labels = {**(meta.labels or {}), _POD_NAME_LABEL: meta.name, _POD_INDEX_LABEL: str(ordinal)}


def revision_of(pod: V1Pod) -> str:
    """Return the name of the ControllerRevision that the pod was made from; empty if it has no such label."""
    return (pod.metadata.labels or {}).get(_REVISION_LABEL, "")


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


@dataclass(frozen=True, slots=True)
class Version:
    """
    A StatefulSet with the template of one of its revisions.

    :ivar revision: the name of the ControllerRevision
    :ivar statefulset: the StatefulSet with that revision's template
    """

    revision: str
    statefulset: V1StatefulSet


def pod_for_ordinal(current: Version, update: Version, ordinal: int) -> V1Pod:
    """
    Make the pod for an ordinal.

    During a rolling update, pods below the partition are made from the current revision, and the others from the new
    one. Without a partition, the pods that still have the current revision keep it.
    """
    version = current if _keeps_current(current.statefulset, ordinal) else update
    return new_pod(version, ordinal)


def new_pod(version: Version, ordinal: int) -> V1Pod:
    """Make the pod for an ordinal from a version."""
    statefulset = version.statefulset
    meta = statefulset.metadata
    pod = pod_from_template(statefulset.spec.template, meta.namespace, meta.name, new_controller_ref(statefulset, KIND))
    set_identity(statefulset, pod, ordinal)
    pod.metadata.labels = {**(pod.metadata.labels or {}), _REVISION_LABEL: version.revision}
    set_storage(statefulset, pod)
    if pod.spec is not None:
        pod.spec = copy.copy(pod.spec)
        pod.spec.hostname = _pod_name(statefulset, ordinal)
        # Without a service, the pod has none either, even if the template has a subdomain.
        pod.spec.subdomain = statefulset.spec.service_name or None
    return pod


def _keeps_current(statefulset: V1StatefulSet, ordinal: int) -> bool:
    strategy = statefulset.spec.update_strategy
    rolling = strategy.rolling_update if strategy is not None else None
    if rolling is not None:
        return ordinal < start_ordinal(statefulset) + (rolling.partition or 0)
    if strategy is None or strategy.type != "RollingUpdate":
        return False
    replicas = (statefulset.status.current_replicas if statefulset.status is not None else None) or 0
    return ordinal < start_ordinal(statefulset) + replicas
