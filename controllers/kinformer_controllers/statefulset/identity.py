"""Who a pod of a StatefulSet is: its ordinal, and the name, labels and host name that follow from it.

A pod called ``web-3`` is the one with ordinal 3 of the StatefulSet ``web``. All functions are pure.
"""

from __future__ import annotations

import re
from typing import Final

from kinformer.models import V1Pod, V1StatefulSet

__all__ = (
    "POD_INDEX_LABEL",
    "POD_NAME_LABEL",
    "REVISION_LABEL",
    "has_identity",
    "is_in_range",
    "is_member",
    "ordinal_of",
    "pod_name",
    "replicas_of",
    "revision_of",
    "set_identity",
    "start_ordinal",
)

POD_NAME_LABEL: Final = "statefulset.kubernetes.io/pod-name"
POD_INDEX_LABEL: Final = "apps.kubernetes.io/pod-index"
REVISION_LABEL: Final = "controller-revision-hash"

_POD_NAME: Final = re.compile(r"(.*)-([0-9]+)", re.DOTALL | re.ASCII)
_MAX_INT32: Final = (1 << 31) - 1


def parent_and_ordinal(name: str) -> tuple[str, int]:
    """The name of the StatefulSet and the ordinal, by a pod's name; ``("", -1)`` if the name has no ordinal."""
    match = _POD_NAME.fullmatch(name)
    if match is None:
        return "", -1
    # A number that does not fit Kubernetes' int32 is no ordinal. The length is looked at first: Python would convert
    # a number of any length.
    digits = match[2].lstrip("0") or "0"
    ordinal = int(digits) if len(digits) <= 10 else _MAX_INT32 + 1
    return match[1], ordinal if ordinal <= _MAX_INT32 else -1


def ordinal_of(pod: V1Pod) -> int:
    """The pod's ordinal, -1 if its name has none."""
    return parent_and_ordinal(pod.metadata.name or "")[1]


def is_member(statefulset: V1StatefulSet, pod: V1Pod) -> bool:
    """Whether the pod's name says that it belongs to the StatefulSet."""
    return parent_and_ordinal(pod.metadata.name or "")[0] == statefulset.metadata.name


def replicas_of(statefulset: V1StatefulSet) -> int:
    """How many pods it asks for; the server fills in 1 where the spec says nothing."""
    replicas = statefulset.spec.replicas
    return 1 if replicas is None else replicas


def start_ordinal(statefulset: V1StatefulSet) -> int:
    """The lowest ordinal: ``spec.ordinals.start``, or 0."""
    ordinals = statefulset.spec.ordinals
    return (ordinals.start or 0) if ordinals is not None else 0


def is_in_range(statefulset: V1StatefulSet, pod: V1Pod) -> bool:
    """Whether the pod's ordinal is one that the StatefulSet asks for."""
    start = start_ordinal(statefulset)
    return start <= ordinal_of(pod) < start + replicas_of(statefulset)


def pod_name(statefulset: V1StatefulSet, ordinal: int) -> str:
    return f"{statefulset.metadata.name}-{ordinal}"


def has_identity(statefulset: V1StatefulSet, pod: V1Pod) -> bool:
    """Whether name, namespace and label are what a member's must be."""
    meta = pod.metadata
    parent, ordinal = parent_and_ordinal(meta.name)
    return (
        ordinal >= 0
        and parent == statefulset.metadata.name
        and meta.name == pod_name(statefulset, ordinal)
        and meta.namespace == statefulset.metadata.namespace
        and (meta.labels or {}).get(POD_NAME_LABEL) == meta.name
    )


def set_identity(statefulset: V1StatefulSet, pod: V1Pod, ordinal: int) -> None:
    """Give a pod, which must be the caller's own copy, the name and labels of that ordinal."""
    meta = pod.metadata
    meta.name = pod_name(statefulset, ordinal)
    meta.namespace = statefulset.metadata.namespace
    meta.labels = {**(meta.labels or {}), POD_NAME_LABEL: meta.name, POD_INDEX_LABEL: str(ordinal)}


def revision_of(pod: V1Pod) -> str:
    """The name of the ControllerRevision that the pod was made from; empty if it does not say."""
    return (pod.metadata.labels or {}).get(REVISION_LABEL, "")
