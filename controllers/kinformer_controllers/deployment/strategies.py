"""The steps of a sync on a Deployment's ReplicaSets: update the new one, scale, roll, recreate, clean up.

Each function does one step of a rollout. The next step follows when the cache shows the result of this one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from kinformer.controllerutil.pods import is_pod_terminal
from kinformer.models import V1Pod, V1ReplicaSet
from kinformer_controllers.deployment.annotations import REVISION, annotations_of, max_revision, revision_of
from kinformer_controllers.deployment.conditions import FOUND_NEW, is_complete
from kinformer_controllers.deployment.counts import active, actual_replicas, age, desired
from kinformer_controllers.deployment.replica_sets import brought_up_to_date
from kinformer_controllers.deployment.rolling import plan_new, plan_old
from kinformer_controllers.deployment.rollout import Rollout
from kinformer_controllers.deployment.scaling import Size, plan_scaling
from kinformer_controllers.deployment.writer import DeploymentWriter

__all__ = ("clean_up", "ensure_new", "old_pods_run", "recreate", "roll", "scale", "sync_revision")

#: The value that means: no limit.
_UNLIMITED: Final = 2**31 - 1


async def sync_revision(writer: DeploymentWriter, rollout: Rollout) -> None:
    """Write the revision of this rollout to the new ReplicaSet, if it exists, and to the Deployment."""
    if rollout.new is None:
        return
    changed = brought_up_to_date(rollout, rollout.new)
    if changed is not None:
        await writer.update(rollout, changed)
    rollout.revision = annotations_of(rollout.new).get(REVISION, "")
    if not rollout.tells_progress:
        rollout.tell_progress("True", FOUND_NEW, f'Found new replica set "{rollout.new.metadata.name}"')


async def ensure_new(writer: DeploymentWriter, rollout: Rollout) -> V1ReplicaSet:
    """Return the new ReplicaSet. It is created if it does not exist."""
    if rollout.new is None:
        revision = max_revision(rollout.old) + 1
        await writer.create(rollout)
        rollout.revision = str(revision)
    assert rollout.new is not None
    return rollout.new


async def scale(writer: DeploymentWriter, rollout: Rollout) -> None:
    """Scale the ReplicaSets in proportion."""
    for size in plan_scaling(rollout.deployment, rollout.new, rollout.old):
        await writer.scale(rollout, size)


async def roll(writer: DeploymentWriter, rollout: Rollout) -> None:
    """Do one step of a rolling update: the new ReplicaSet grows, or else the old ones shrink."""
    new = await ensure_new(writer, rollout)
    if await writer.scale(rollout, Size(new, plan_new(rollout.deployment, new, rollout.old))):
        return
    steps = plan_old(rollout.deployment, new, rollout.old)
    for size in steps:
        await writer.scale(rollout, size)
    if not steps:
        await _clean_up_when_complete(writer, rollout)


async def recreate(writer: DeploymentWriter, rollout: Rollout, pods: Mapping[str, Sequence[V1Pod]]) -> None:
    """
    Do one step of the strategy Recreate: scale old ReplicaSets to 0; when none of their pods runs any more, create the
    new ReplicaSet.

    :param pods: the pods by the uid of their ReplicaSet
    """
    scaled = [await writer.scale(rollout, Size(each, 0)) for each in active(rollout.old)]
    if any(scaled) or old_pods_run(rollout, pods):
        return
    new = await ensure_new(writer, rollout)
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
