"""The disruption controller, as kube-controller-manager has it.

In: PodDisruptionBudgets, pods, and the pods' controllers, which have the desired number of pods. Out: the status of
each budget, by which the API server allows or refuses evictions, and a false DisruptionTarget condition on pods that
were not deleted in time. Promised: a budget whose status cannot be computed allows no evictions, and its condition has
the reason.
"""

from __future__ import annotations

import copy

from kinformer.client.errors import (
    Conflict,
    ConnectionLost,
    InternalError,
    NotFound,
    ServerTimeout,
    ServerUnreachable,
    ServiceUnavailable,
    Timeout,
    TooManyRequests,
)
from kinformer.controllerutil.handlers import OwnerHandler
from kinformer.logs import get_logger
from kinformer.manager import Controller, ControllerContext, Group
from kinformer.models import (
    V1Deployment,
    V1Pod,
    V1PodDisruptionBudget,
    V1PodDisruptionBudgetStatus,
    V1ReplicaSet,
    V1ReplicationController,
    V1StatefulSet,
)
from kinformer_controllers.disruption.budgets import LABEL_INDEX, Budgets, PodHandler, label_index
from kinformer_controllers.disruption.counting import BudgetCounter, ScaleFinder
from kinformer_controllers.disruption.stale_pods import StalePods
from kinformer_controllers.disruption.status import failed_status, is_up_to_date

__all__ = ("DisruptionController",)

log = get_logger(__name__)

#: Errors that pass by themselves: the server has a problem, not the budget or its pods.
_PASSING = (
    ConnectionLost,
    InternalError,
    ServerTimeout,
    ServerUnreachable,
    ServiceUnavailable,
    Timeout,
    TooManyRequests,
)

#: How many budgets are synced at a time. kube-controller-manager syncs one: after a start in a full cluster, all other
#: controllers have written their last status long before the last budget allows an eviction.
_WORKERS = 5

#: The source component of its Events.
COMPONENT = "controllermanager"


class DisruptionController(Group):
    """Syncs the statuses of budgets. Budgets and stale conditions have a queue and a worker each."""

    def __init__(self, context: ControllerContext) -> None:
        informers = context.informers
        recorder = context.recorder(COMPONENT)
        self._clock = context.clock
        budgets = informers.informer_for(V1PodDisruptionBudget, indexers={LABEL_INDEX: label_index})
        pods = informers.informer_for(V1Pod)
        replication_controllers = informers.informer_for(V1ReplicationController)
        replica_sets = informers.informer_for(V1ReplicaSet)
        deployments = informers.informer_for(V1Deployment)
        stateful_sets = informers.informer_for(V1StatefulSet)
        self._cached_budgets = budgets.indexer
        self.budgets = Budgets(budgets.indexer, pods.indexer)
        self.scales = ScaleFinder(
            context.client,
            replication_controllers.indexer,
            replica_sets.indexer,
            deployments.indexer,
            stateful_sets.indexer,
        )
        self._counter = BudgetCounter(self.budgets, self.scales, recorder)
        self._server = context.client.resource(V1PodDisruptionBudget)
        self.stale = StalePods(context.client.resource(V1Pod), pods.indexer, self._clock)
        # kube-controller-manager does not wait for its own last write. It then meets a conflict and retries.
        self.controller = Controller("disruption", self.sync, workers=_WORKERS, consistent=True, clock=self._clock)
        self.stale_pods = Controller(
            "disruption-stale-pods", self.stale.sync, queue_name="stale_pod_disruption", clock=self._clock
        )
        queues = self.controller.queue, self.stale_pods.queue
        self.controller.handle(budgets, OwnerHandler(self.controller.queue.add, self.budgets.forget))
        self.controller.handle(pods, PodHandler(*queues, self.budgets, recorder, self._clock))
        self.controller.wait_for(replication_controllers).wait_for(replica_sets)
        self.controller.wait_for(deployments).wait_for(stateful_sets)
        super().__init__(self.controller, self.stale_pods)

    async def sync(self, key: str) -> float | None:
        """
        Update one budget's status.

        :return: seconds until an allowed eviction is overdue; None if there is none
        """
        budget = self._cached_budgets.get_by_key(key)
        if budget is None:
            return None
        try:
            count = await self._counter.count(budget, self._clock.now())
            if not is_up_to_date(budget, count.status):
                await self._write(budget, count.status)
        except Conflict:
            raise
        except Exception as error:
            # For errors of any type, nothing may be evicted until the status can be computed again.
            status = failed_status(budget, error, self._clock.now())
            if status != budget.status:
                log.error("budget_not_computed", budget=key, error=str(error))
                await self._write(budget, status)
            if isinstance(error, _PASSING):
                raise  # to be retried, because there is no event when the error has passed
            return None
        return count.recheck

    async def _write(self, budget: V1PodDisruptionBudget, status: V1PodDisruptionBudgetStatus) -> None:
        written = copy.copy(budget)
        written.status = status
        try:
            await self._server.update_status(written)
        except NotFound:
            # The budget was deleted, and the cache does not show it yet. This is usual when pods are deleted, too.
            log.debug("budget_gone", namespace=budget.metadata.namespace, name=budget.metadata.name)
