"""The steps of a Deployment's sync and their order: pause, revision, rollback, scaling, rollout, status.

Each function does one step of a rollout. The next step follows when the cache shows the result of this one. A rollback
is asked for with the annotation ``deprecated.deployment.rollback.to``. ``kubectl rollout undo`` does not use it: it
writes the older template itself.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Final

from kinformer.cache import Indexer
from kinformer.controllerutil.owning import owned_by
from kinformer.controllerutil.pods import is_pod_terminal
from kinformer.models import V1Deployment, V1Pod, V1ReplicaSet
from kinformer_controllers.deployment.annotations import (
    REVISION,
    ROLLBACK_TO,
    annotations_of,
    last_revision,
    max_revision,
    revision_of,
    rollback_revision,
    rolled_back_annotations,
)
from kinformer_controllers.deployment.limits import (
    RECREATE,
    ROLLING_UPDATE,
    StrategyError,
    active,
    actual_replicas,
    age,
    desired,
    strategy_of,
)
from kinformer_controllers.deployment.rollout import Rollout, same_template, without_hash
from kinformer_controllers.deployment.sizes import Size, is_being_scaled, plan_new, plan_old, plan_scaling
from kinformer_controllers.deployment.status import (
    FOUND_NEW,
    compute_status,
    is_complete,
    paused_condition,
    rollout_status,
)
from kinformer_controllers.deployment.writer import DeploymentWriter, brought_up_to_date

__all__ = (
    "act",
    "clean_up",
    "old_pods_run",
)

#: The value that means: no limit.
_UNLIMITED: Final = 2**31 - 1

_DONE: Final = "DeploymentRollback"
_NOT_FOUND: Final = "DeploymentRollbackRevisionNotFound"
_UNCHANGED: Final = "DeploymentRollbackTemplateUnchanged"


async def act(writer: DeploymentWriter, rollout: Rollout, pods: Indexer[V1Pod]) -> bool:
    """
    Do the steps, and compute the status. The caller writes the status.

    :param pods: the cache of pods, with its index by controller
    :return: whether this was a step of the rollout. Only then progress is expected, and its deadline can pass
    :raises StrategyError: if the Deployment's strategy is invalid
    :raises ClientError: if the server refuses a write
    """
    deployment = rollout.deployment
    computed = compute_status
    if deployment.metadata.deletion_timestamp:
        await _sync_revision(writer, rollout)
    else:
        if (told := paused_condition(deployment, rollout.status.conditions, rollout.now)) is not None:
            rollout.tell(told)
        await _sync_revision(writer, rollout)
        if deployment.spec.paused:
            await _scale(writer, rollout)
            if rollback_revision(deployment) is None:
                await clean_up(writer, rollout)
        elif rollback_revision(deployment) is not None:
            await _roll_back(writer, rollout)
            return False
        elif is_being_scaled(deployment, rollout.all):
            await _scale(writer, rollout)
        else:
            computed = rollout_status
            await _roll_out(writer, rollout, pods)
    rollout.status = computed(deployment, rollout.status, rollout.new, rollout.old, rollout.now)
    return computed is rollout_status


async def _roll_out(writer: DeploymentWriter, rollout: Rollout, pods: Indexer[V1Pod]) -> None:
    strategy = strategy_of(rollout.deployment)
    if strategy == RECREATE:
        owned = {each.metadata.uid: owned_by(pods, each, "ReplicaSet", orphans=False) for each in rollout.all}
        await _recreate(writer, rollout, owned)
    elif strategy == ROLLING_UPDATE:
        await _roll(writer, rollout)
    else:
        raise StrategyError(f"unexpected deployment strategy type: {strategy!r}")


async def _sync_revision(writer: DeploymentWriter, rollout: Rollout) -> None:
    """Write the revision of this rollout to the new ReplicaSet, if it exists, and to the Deployment."""
    if rollout.new is None:
        return
    changed = brought_up_to_date(rollout, rollout.new)
    if changed is not None:
        await writer.update(rollout, changed)
    rollout.revision = annotations_of(rollout.new).get(REVISION, "")
    if not rollout.tells_progress:
        rollout.tell_progress("True", FOUND_NEW, f'Found new replica set "{rollout.new.metadata.name}"')


async def _ensure_new(writer: DeploymentWriter, rollout: Rollout) -> V1ReplicaSet:
    """Return the new ReplicaSet. It is created if it does not exist."""
    if rollout.new is None:
        revision = max_revision(rollout.old) + 1
        await writer.create(rollout)
        rollout.revision = str(revision)
    assert rollout.new is not None
    return rollout.new


async def _scale(writer: DeploymentWriter, rollout: Rollout) -> None:
    """Scale the ReplicaSets in proportion."""
    for size in plan_scaling(rollout.deployment, rollout.new, rollout.old):
        await writer.scale(rollout, size)


async def _roll(writer: DeploymentWriter, rollout: Rollout) -> None:
    """Do one step of a rolling update: the new ReplicaSet grows, or else the old ones shrink."""
    new = await _ensure_new(writer, rollout)
    if await writer.scale(rollout, Size(new, plan_new(rollout.deployment, new, rollout.old))):
        return
    steps = plan_old(rollout.deployment, new, rollout.old)
    for size in steps:
        await writer.scale(rollout, size)
    if not steps:
        await _clean_up_when_complete(writer, rollout)


async def _recreate(writer: DeploymentWriter, rollout: Rollout, pods: Mapping[str, Sequence[V1Pod]]) -> None:
    """
    Do one step of the strategy Recreate: scale old ReplicaSets to 0; when none of their pods runs any more, create the
    new ReplicaSet.

    :param pods: the pods by the uid of their ReplicaSet
    """
    scaled = [await writer.scale(rollout, Size(each, 0)) for each in active(rollout.old)]
    if any(scaled) or old_pods_run(rollout, pods):
        return
    new = await _ensure_new(writer, rollout)
    await writer.scale(rollout, Size(new, desired(rollout.deployment)))
    await _clean_up_when_complete(writer, rollout)


async def clean_up(writer: DeploymentWriter, rollout: Rollout) -> None:
    """Delete the oldest unused ReplicaSets beyond the revision history limit."""
    limit = rollout.deployment.spec.revision_history_limit
    if limit in (None, _UNLIMITED):
        return
    alive = [each for each in rollout.old if not each.metadata.deletion_timestamp]
    alive.sort(key=lambda each: (revision_of(each) or 0, age(each)))
    for each in alive[: max(len(alive) - limit, 0)]:
        if not _is_in_use(each):
            await writer.delete(each)


async def _clean_up_when_complete(writer: DeploymentWriter, rollout: Rollout) -> None:
    if is_complete(rollout.deployment, rollout.status):
        await clean_up(writer, rollout)


def _is_in_use(replica_set: V1ReplicaSet) -> bool:
    observed = (replica_set.status.observed_generation or 0) if replica_set.status else 0
    unseen = (replica_set.metadata.generation or 0) > observed
    return bool(actual_replicas([replica_set]) or desired(replica_set) or unseen)


def old_pods_run(rollout: Rollout, pods: Mapping[str, Sequence[V1Pod]]) -> bool:
    """Whether an old ReplicaSet has a pod that has not ended, or reports pods in its status."""
    if actual_replicas(rollout.old) > 0:
        return True
    new = rollout.new.metadata.uid if rollout.new is not None else None
    return any(not is_pod_terminal(pod) for uid, owned in pods.items() if uid != new for pod in owned)


async def _roll_back(writer: DeploymentWriter, rollout: Rollout) -> None:
    """Give the Deployment the template of the requested revision, if there is one, and remove the annotation."""
    deployment = rollout.deployment
    changed = _without_request(deployment)
    await _ensure_new(writer, rollout)
    revision = rollback_revision(deployment) or last_revision(rollout.all)
    name = deployment.metadata.name
    target = next((each for each in rollout.all if revision_of(each) == revision), None)
    if not revision:
        writer.warn(deployment, _NOT_FOUND, "Unable to find last revision.")
    elif target is None:
        writer.warn(deployment, _NOT_FOUND, "Unable to find the revision to rollback to.")
    elif same_template(deployment.spec.template, target.spec.template):
        message = f'The rollback revision contains the same template as current deployment "{name}"'
        writer.warn(deployment, _UNCHANGED, message)
    else:
        changed.spec = copy.copy(deployment.spec)
        changed.spec.template = without_hash(target.spec.template)
        annotations = rolled_back_annotations(deployment, target)
        annotations.pop(ROLLBACK_TO, None)
        changed.metadata.annotations = annotations
        await writer.update_deployment(changed)
        writer.tell(deployment, _DONE, f'Rolled back deployment "{name}" to revision {revision}')
        return
    await writer.update_deployment(changed)


def _without_request(deployment: V1Deployment) -> V1Deployment:
    changed = copy.copy(deployment)
    changed.metadata = copy.copy(deployment.metadata)
    changed.metadata.annotations = {key: it for key, it in annotations_of(deployment).items() if key != ROLLBACK_TO}
    return changed
