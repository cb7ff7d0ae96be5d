"""Making the ReplicaSets that a Deployment creates, and changed copies of existing ones. No I/O."""

from __future__ import annotations

import copy

from kinformer.meta import GroupVersionKind, new_controller_ref
from kinformer.models import (
    V1Deployment,
    V1LabelSelector,
    V1ObjectMeta,
    V1ReplicaSet,
    V1ReplicaSetSpec,
)
from kinformer_controllers.deployment.annotations import (
    annotations_for,
    annotations_of,
    max_revision,
    replicas_annotations,
)
from kinformer_controllers.deployment.limits import new_replicas
from kinformer_controllers.deployment.rollout import Rollout
from kinformer_controllers.deployment.templates import HASH_LABEL, replica_set_name, template_hash

__all__ = ("DEPLOYMENT", "brought_up_to_date", "new_replica_set", "resized")

DEPLOYMENT = GroupVersionKind("apps", "v1", "Deployment")


def new_replica_set(rollout: Rollout) -> V1ReplicaSet:
    """
    Make the ReplicaSet of a Deployment's template, with its first size.

    :raises StrategyError: if the Deployment's strategy is invalid
    """
    deployment, spec = rollout.deployment, rollout.deployment.spec
    meta = deployment.metadata
    hash_ = template_hash(spec.template, rollout.status.collision_count)
    template = copy.copy(spec.template)
    template.metadata = copy.copy(spec.template.metadata) or V1ObjectMeta()
    template.metadata.labels = {**(template.metadata.labels or {}), HASH_LABEL: hash_}
    made = V1ReplicaSet(
        api_version="apps/v1",
        kind="ReplicaSet",
        metadata=V1ObjectMeta(
            # The name is the same each time, so that the ReplicaSet is not created twice.
            name=replica_set_name(meta.name, hash_),
            namespace=meta.namespace,
            labels=template.metadata.labels,
            annotations=annotations_for(deployment, {}, max_revision(rollout.old) + 1)
            | replicas_annotations(deployment),
            owner_references=[new_controller_ref(deployment, DEPLOYMENT)],
        ),
        spec=V1ReplicaSetSpec(
            replicas=0,
            min_ready_seconds=spec.min_ready_seconds,
            selector=V1LabelSelector(
                match_labels={**(spec.selector.match_labels or {}), HASH_LABEL: hash_},
                match_expressions=spec.selector.match_expressions,
            ),
            template=template,
        ),
    )
    made.spec.replicas = new_replicas(deployment, [*rollout.old, made], made)
    return made


def brought_up_to_date(rollout: Rollout, replica_set: V1ReplicaSet) -> V1ReplicaSet | None:
    """Return the new ReplicaSet with the Deployment's annotations and ``minReadySeconds``; None if it has them."""
    deployment, had = rollout.deployment, annotations_of(replica_set)
    annotations = annotations_for(deployment, had, max_revision(rollout.old) + 1)
    min_ready_seconds = deployment.spec.min_ready_seconds
    if annotations == had and (replica_set.spec.min_ready_seconds or 0) == (min_ready_seconds or 0):
        return None
    changed = _copied(replica_set)
    changed.metadata.annotations = annotations
    changed.spec.min_ready_seconds = min_ready_seconds
    return changed


def resized(deployment: V1Deployment, replica_set: V1ReplicaSet, replicas: int) -> V1ReplicaSet | None:
    """Return a ReplicaSet with this size and the annotations of the Deployment's size; None if it has both."""
    had = annotations_of(replica_set)
    annotations = had | replicas_annotations(deployment)
    if annotations == had and replica_set.spec.replicas == replicas:
        return None
    changed = _copied(replica_set)
    changed.metadata.annotations = annotations
    changed.spec.replicas = replicas
    return changed


def _copied(replica_set: V1ReplicaSet) -> V1ReplicaSet:
    """Return a copy whose metadata and spec can be changed. Their values are shared with the original."""
    copied = copy.copy(replica_set)
    copied.metadata = copy.copy(replica_set.metadata)
    copied.spec = copy.copy(replica_set.spec)
    return copied
