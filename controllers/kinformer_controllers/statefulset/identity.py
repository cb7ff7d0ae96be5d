"""The identity of a StatefulSet's pod: its ordinal, and the name, labels and host name that follow from it.

The pod ``web-3`` has the ordinal 3 in the StatefulSet ``web``. All functions are pure.
"""

from __future__ import annotations

import re
from typing import Final

from kinformer.meta.integers import read_integer
from kinformer.models import V1Pod, V1StatefulSet

__all__ = (
    "POD_INDEX_LABEL",
    "POD_NAME_LABEL",
    "REVISION_LABEL",
    "has_identity",
    "is_in_range",
    "is_member",
    "ordinal_of",
    "parent_and_ordinal",
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


def pod_name(statefulset: V1StatefulSet, ordinal: int) -> str:
    return f"{statefulset.metadata.name}-{ordinal}"


def has_identity(statefulset: V1StatefulSet, pod: V1Pod) -> bool:
    """Whether the pod's name, namespace and label are correct."""
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
    """
    Set the name and the labels of an ordinal.

    :param pod: the caller's own copy, which is changed
    """
    meta = pod.metadata
    meta.name = pod_name(statefulset, ordinal)
    meta.namespace = statefulset.metadata.namespace
    meta.labels = {**(meta.labels or {}), POD_NAME_LABEL: meta.name, POD_INDEX_LABEL: str(ordinal)}


def revision_of(pod: V1Pod) -> str:
    """Return the name of the ControllerRevision that the pod was made from; empty if it has no such label."""
    return (pod.metadata.labels or {}).get(REVISION_LABEL, "")
