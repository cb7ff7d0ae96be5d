"""The writes of a Deployment's sync: its ReplicaSets as they are created and changed, its status, and Events."""

from __future__ import annotations

import copy
from typing import Any

from kinformer.client import Client, PatchType
from kinformer.client.errors import AlreadyExists, NotFound
from kinformer.controllerutil.pod_control import is_namespace_terminating
from kinformer.meta import GroupVersionKind, get_controller_of, new_controller_ref
from kinformer.models import (
    V1Deployment,
    V1LabelSelector,
    V1ObjectMeta,
    V1ReplicaSet,
    V1ReplicaSetSpec,
    complete,
)
from kinformer.record import NORMAL, WARNING, EventRecorder
from kinformer_controllers.deployment.annotations import (
    annotations_for,
    annotations_of,
    max_revision,
    replicas_annotations,
)
from kinformer_controllers.deployment.limits import desired, new_replicas
from kinformer_controllers.deployment.rollout import HASH_LABEL, Rollout, replica_set_name, same_template, template_hash
from kinformer_controllers.deployment.sizes import Size
from kinformer_controllers.deployment.status import FAILED_CREATE, NEW_CREATED

__all__ = (
    "DEPLOYMENT",
    "DeploymentWriter",
    "brought_up_to_date",
)

DEPLOYMENT = GroupVersionKind("apps", "v1", "Deployment")


def _new_replica_set(rollout: Rollout) -> V1ReplicaSet:
    """
    Make the ReplicaSet of a Deployment's template, with its first size.

    :raises StrategyError: if the Deployment's strategy is invalid
    """
    deployment, spec = rollout.deployment, rollout.deployment.spec
    meta = deployment.metadata
    complete(spec.template)  # otherwise its containers are decoded for the hash, for the ReplicaSet and for the status
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


def _resized(deployment: V1Deployment, replica_set: V1ReplicaSet, replicas: int) -> V1ReplicaSet | None:
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


class DeploymentWriter:
    """Writes Deployments and their ReplicaSets."""

    def __init__(self, client: Client, recorder: EventRecorder) -> None:
        self.deployments = client.resource(V1Deployment)
        self._replica_sets = client.resource(V1ReplicaSet)
        self._recorder = recorder

    async def patch(self, namespace: str, name: str, patch: dict[str, Any]) -> V1ReplicaSet:
        """Apply a strategic merge patch to a ReplicaSet. It is adopted and released with this method."""
        return await self._replica_sets.patch(name, patch, namespace, patch_type=PatchType.STRATEGIC)

    def warn(self, deployment: V1Deployment, reason: str, message: str) -> None:
        self._recorder.event(deployment, WARNING, reason, message)

    def tell(self, deployment: V1Deployment, reason: str, message: str) -> None:
        self._recorder.event(deployment, NORMAL, reason, message)

    async def update(self, rollout: Rollout, replica_set: V1ReplicaSet) -> V1ReplicaSet:
        """
        Write a changed ReplicaSet.

        :raises Conflict: if another client has changed it since it was read
        """
        updated = await self._replica_sets.update(replica_set)
        rollout.replace(updated)
        return updated

    async def scale(self, rollout: Rollout, size: Size) -> bool:
        """Scale a ReplicaSet, and record an Event. Returns whether its size has changed."""
        deployment, replica_set = rollout.deployment, rollout.current(size.replica_set)
        had = desired(replica_set)
        if had == size.replicas and not size.force:
            return False
        changed = _resized(deployment, replica_set, size.replicas)
        if changed is None:
            return False
        updated = await self.update(rollout, changed)
        if had == size.replicas:
            return False
        way = "up" if had < size.replicas else "down"
        message = f"Scaled {way} replica set {updated.metadata.name} from {had} to {size.replicas}"
        self.tell(deployment, "ScalingReplicaSet", message)
        return True

    async def create(self, rollout: Rollout) -> None:
        """
        Create the new ReplicaSet.

        :raises AlreadyExists: if its name is taken by another ReplicaSet; the next sync uses another name
        :raises ClientError: if the server refuses; the error is added to the status, too
        :raises StrategyError: if the Deployment's strategy is invalid
        """
        deployment, made = rollout.deployment, _new_replica_set(rollout)
        name = made.metadata.name
        try:
            rollout.new = await self._replica_sets.create(made)
        except AlreadyExists:
            there = await self._replica_sets.get(name, made.metadata.namespace)
            reference = get_controller_of(there)
            is_own = reference is not None and reference.uid == deployment.metadata.uid
            if not is_own or not same_template(deployment.spec.template, there.spec.template):
                rollout.status.collision_count = (rollout.status.collision_count or 0) + 1
                raise
            # The cache did not show it yet.
            rollout.new = there
            return
        except Exception as error:
            if not is_namespace_terminating(error):
                message = f'Failed to create new replica set "{name}": {error}'
                rollout.tell_progress("False", FAILED_CREATE, message)
                self.warn(deployment, FAILED_CREATE, message)
            raise
        if (made.spec.replicas or 0) > 0:
            message = f"Scaled up replica set {name} from 0 to {made.spec.replicas}"
            self.tell(deployment, "ScalingReplicaSet", message)
        rollout.tell_progress("True", NEW_CREATED, f'Created new replica set "{name}"')

    async def delete(self, replica_set: V1ReplicaSet) -> None:
        """Delete a ReplicaSet. It is no error if it is already gone."""
        try:
            await self._replica_sets.delete(replica_set.metadata.name, replica_set.metadata.namespace)
        except NotFound:
            return

    async def update_deployment(self, deployment: V1Deployment) -> None:
        """Write a Deployment's spec and annotations."""
        await self.deployments.update(deployment)

    async def write_status(self, rollout: Rollout) -> None:
        """Write a Deployment's status and revision, if they have changed."""
        deployment = rollout.to_write()
        if deployment is not None:
            await self.deployments.update_status(deployment)
