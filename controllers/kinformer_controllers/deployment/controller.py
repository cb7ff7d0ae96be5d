"""The Deployment controller: creates and scales a Deployment's ReplicaSets until all pods have its template.

It is kube-controller-manager's controller, with the same events, the same order of steps and the same writes, except
for these differences:

- A sync writes the Deployment's status once, at its end.
- A sync waits while the cache is older than its own last write.
- An invalid Deployment is logged once for each change of it, and is not retried.
- A Deployment that was complete and has lost a pod is not synced repeatedly until it has the pod again.
"""

from __future__ import annotations

from contextlib import suppress
from typing import cast

from kinformer.cache import ResourceEventHandler
from kinformer.controllerutil.claiming import ControllerRefManager, recheck_deletion
from kinformer.controllerutil.handlers import OwnerHandler, PodHandler
from kinformer.controllerutil.owning import (
    OwnersByReference,
    add_controller_index,
    controller_of,
    named_owner,
    owned_by,
)
from kinformer.controllerutil.pod_control import is_namespace_terminating
from kinformer.logs import get_logger
from kinformer.manager import Controller, ControllerContext
from kinformer.meta import Selector, SelectorError, label_selector_as_selector, meta_namespace_key
from kinformer.models import V1Deployment, V1LabelSelector, V1Pod, V1ReplicaSet
from kinformer_controllers.deployment.limits import RECREATE, StrategyError, strategy_of
from kinformer_controllers.deployment.rollout import Rollout, TemplateMemory
from kinformer_controllers.deployment.spec import DeploymentOptions
from kinformer_controllers.deployment.status import next_progress_check
from kinformer_controllers.deployment.steps import act
from kinformer_controllers.deployment.writer import DEPLOYMENT, DeploymentWriter

__all__ = ("DeploymentController",)

log = get_logger(__name__)


class DeploymentController:
    """Syncs Deployments."""

    def __init__(self, context: ControllerContext) -> None:
        workers = context.read(DeploymentOptions).concurrent_deployment_syncs
        informers = context.informers
        self._clock = clock = context.clock
        deployments = informers.informer_for(V1Deployment)
        replica_sets, pods = informers.informer_for(V1ReplicaSet), informers.informer_for(V1Pod)
        add_controller_index(replica_sets)
        add_controller_index(pods)
        self._deployments, self._replica_sets, self._pods = deployments.indexer, replica_sets.indexer, pods.indexer
        self._writer = DeploymentWriter(context.client, context.recorder("deployment-controller"))
        self._templates = TemplateMemory()
        self.controller = Controller("deployment", self.sync, workers=workers, consistent=True, clock=clock)
        queue = self.controller.queue
        owners = OwnersByReference(V1Deployment, DEPLOYMENT.kind, self._deployments)
        self.controller.handle(deployments, OwnerHandler(queue.add, self._templates.forget))
        # The pod handler also works for ReplicaSets: they belong to Deployments as pods belong to ReplicaSets.
        self.replica_set_handler = cast("ResourceEventHandler[V1ReplicaSet]", PodHandler(queue, None, owners))
        self.controller.handle(replica_sets, self.replica_set_handler)
        self.controller.watch_mapped(pods, self.recreated_after, lambda old, new: new is None)

    async def sync(self, key: str) -> float | None:
        """
        Do the next step for one Deployment.

        :return: seconds until its progress deadline passes, if progress is expected
        """
        deployment = self._deployments.get_by_key(key)
        if deployment is None:
            self._templates.forget(key)
            return None
        try:
            return await self._sync(key, deployment)
        except (SelectorError, StrategyError) as error:
            log.error("deployment_not_understood", key=key, error=str(error))
        except Exception as error:
            if not is_namespace_terminating(error):
                raise
        return None

    async def _sync(self, key: str, deployment: V1Deployment) -> float | None:
        if deployment.spec.selector == V1LabelSelector():
            message = "This deployment is selecting all pods. A non-empty selector is required."
            self._writer.warn(deployment, "SelectingAll", message)
            await self._writer.write_status(_observed(Rollout(deployment, (), None, self._clock.now())))
            return None
        claimed = await self._claim(deployment, label_selector_as_selector(deployment.spec.selector))
        rollout = Rollout(deployment, claimed, self._templates.comparing(key), self._clock.now())
        try:
            rolls = await act(self._writer, rollout, self._pods)
        except Exception:
            # The status is written even if a step failed. The error of the step matters more than one of this write.
            with suppress(Exception):
                await self._writer.write_status(rollout)
            raise
        await self._writer.write_status(rollout)
        if not rolls:
            # Nobody would write that the deadline has passed: neither while the Deployment is paused, deleted, scaled
            # or rolled back, nor in a sync of it a second later.
            return None
        return next_progress_check(rollout.deployment, rollout.status.conditions, rollout.status, self._clock.now())

    async def _claim(self, deployment: V1Deployment, selector: Selector) -> list[V1ReplicaSet]:
        meta = deployment.metadata

        async def read_fresh() -> V1Deployment:
            return await self._writer.deployments.get(meta.name, meta.namespace)

        check = recheck_deletion(read_fresh, meta.uid)
        manager: ControllerRefManager[V1ReplicaSet] = ControllerRefManager(
            deployment, DEPLOYMENT, selector, self._writer.patch, check
        )
        return await manager.claim(owned_by(self._replica_sets, deployment, DEPLOYMENT.kind))

    def recreated_after(self, pod: V1Pod) -> list[str]:
        """
        Return the key of the Deployment that may go on, because its last pod is gone. Its strategy is Recreate.

        For other changes, the status of the ReplicaSet queues the Deployment.
        """
        namespace = pod.metadata.namespace
        replica_set = named_owner(self._replica_sets, "ReplicaSet", namespace, controller_of(pod))
        if replica_set is None:
            return []
        deployment = named_owner(self._deployments, DEPLOYMENT.kind, namespace, controller_of(replica_set))
        if deployment is None or strategy_of(deployment) != RECREATE:
            return []
        owned = owned_by(self._replica_sets, deployment, DEPLOYMENT.kind, orphans=False)
        if any(owned_by(self._pods, each, "ReplicaSet", orphans=False) for each in owned):
            return []
        return [meta_namespace_key(deployment)]


def _observed(rollout: Rollout) -> Rollout:
    rollout.status.observed_generation = rollout.deployment.metadata.generation
    return rollout
