"""The steps of a Deployment's sync and their order: pause, revision, rollback, scaling, rollout, status."""

from __future__ import annotations

from kinformer.cache import Indexer
from kinformer.controllerutil.owning import owned_by
from kinformer.models import V1Pod
from kinformer_controllers.deployment.annotations import rollback_revision
from kinformer_controllers.deployment.conditions import paused_condition
from kinformer_controllers.deployment.limits import RECREATE, ROLLING_UPDATE, StrategyError, strategy_of
from kinformer_controllers.deployment.rollback import roll_back
from kinformer_controllers.deployment.rollout import Rollout
from kinformer_controllers.deployment.scaling import is_being_scaled
from kinformer_controllers.deployment.status import compute_status, rollout_status
from kinformer_controllers.deployment.strategies import clean_up, recreate, roll, scale, sync_revision
from kinformer_controllers.deployment.writer import DeploymentWriter

__all__ = ("act",)


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
        await sync_revision(writer, rollout)
    else:
        if (told := paused_condition(deployment, rollout.status.conditions, rollout.now)) is not None:
            rollout.tell(told)
        await sync_revision(writer, rollout)
        if deployment.spec.paused:
            await scale(writer, rollout)
            if rollback_revision(deployment) is None:
                await clean_up(writer, rollout)
        elif rollback_revision(deployment) is not None:
            await roll_back(writer, rollout)
            return False
        elif is_being_scaled(deployment, rollout.all):
            await scale(writer, rollout)
        else:
            computed = rollout_status
            await _roll_out(writer, rollout, pods)
    rollout.status = computed(deployment, rollout.status, rollout.new, rollout.old, rollout.now)
    return computed is rollout_status


async def _roll_out(writer: DeploymentWriter, rollout: Rollout, pods: Indexer[V1Pod]) -> None:
    strategy = strategy_of(rollout.deployment)
    if strategy == RECREATE:
        owned = {each.metadata.uid: owned_by(pods, each, "ReplicaSet", orphans=False) for each in rollout.all}
        await recreate(writer, rollout, owned)
    elif strategy == ROLLING_UPDATE:
        await roll(writer, rollout)
    else:
        raise StrategyError(f"unexpected deployment strategy type: {strategy!r}")
