"""Making the pods of a StatefulSet, each from the right revision. Pure functions."""

from __future__ import annotations

import copy
from dataclasses import dataclass

from kinformer.controllerutil.pod_control import pod_from_template
from kinformer.meta import GroupVersionKind, new_controller_ref
from kinformer.models import V1Pod, V1StatefulSet
from kinformer_controllers.statefulset.claims import set_storage
from kinformer_controllers.statefulset.identity import REVISION_LABEL, pod_name, set_identity, start_ordinal

__all__ = ("KIND", "Version", "new_pod", "pod_for_ordinal")

KIND = GroupVersionKind("apps", "v1", "StatefulSet")


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
    pod.metadata.labels = {**(pod.metadata.labels or {}), REVISION_LABEL: version.revision}
    set_storage(statefulset, pod)
    if pod.spec is not None:
        pod.spec = copy.copy(pod.spec)
        pod.spec.hostname = pod_name(statefulset, ordinal)
        if statefulset.spec.service_name:
            pod.spec.subdomain = statefulset.spec.service_name
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
