"""Computing a budget's status from its pods and the desired scale of their controllers.

In: a budget; its pods come from :class:`Budgets`, and the desired scales from :class:`Scales`. Out: its new status, and
Events about problems. The status is not written here.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from kinformer.meta import SelectorError
from kinformer.models import V1Pod, V1PodDisruptionBudget, V1PodDisruptionBudgetStatus
from kinformer.record import NORMAL, WARNING, EventRecorder
from kinformer_controllers.disruption.budgets import Budgets
from kinformer_controllers.disruption.scales import Scales, expected_scale
from kinformer_controllers.disruption.status import (
    count_healthy,
    desired_healthy,
    disrupted_pods,
    new_status,
    wants_scale,
)
from kinformer_controllers.shared.selector_text import selector_text

__all__ = ("BudgetCounter", "Count")

_UNMANAGED_PODS: Final = (
    "Pods selected by this PodDisruptionBudget (selector: {}) were found to be unmanaged. As a result, the status of "
    "the PDB cannot be calculated correctly, which may result in undefined behavior. To account for these pods please "
    'set ".spec.minAvailable" field of the PDB to an integer value.'
)


@dataclass(frozen=True, slots=True)
class Count:
    """
    The result for one budget.

    :ivar status: the new status
    :ivar recheck: seconds until an allowed eviction is overdue; None if there is none
    """

    status: V1PodDisruptionBudgetStatus
    recheck: float | None


class BudgetCounter:
    """
    Computes the statuses of budgets.

    :param recorder: records Events about problems of a budget or a pod
    """

    def __init__(self, budgets: Budgets, scales: Scales, recorder: EventRecorder) -> None:
        self._budgets = budgets
        self._scales = scales
        self._recorder = recorder

    async def count(self, budget: V1PodDisruptionBudget, now: datetime) -> Count:
        """
        Compute a budget's status.

        :raises SelectorError: if the budget's selector is invalid
        :raises ScaleError: if the scale of a pod's controller cannot be found
        :raises ValueError: if the budget's number is neither an integer nor a percentage
        :raises ClientError: if the server could not be read
        """
        try:
            pods = self._budgets.pods_of(budget)
        except SelectorError as error:
            self._recorder.event(budget, WARNING, "NoPods", f"Failed to get pods: {error}")
            raise
        if not pods:
            self._recorder.event(budget, NORMAL, "NoPods", "No matching pods found")
        try:
            expected, desired = await self._expect(budget, pods)
        except Exception as error:
            message = f"Failed to calculate the number of expected pods: {error}"
            self._recorder.event(budget, WARNING, "CalculateExpectedPodCountFailed", message)
            raise
        disrupted = disrupted_pods(budget, pods, now)
        for pod in disrupted.overdue:
            # Kubernetes' text has the namespace twice, too.
            where = f"{budget.metadata.namespace}/{budget.metadata.namespace}"
            message = f"Pod was expected by PDB {where} to be deleted but it wasn't"
            self._recorder.event(pod, WARNING, "NotDeleted", message)
        status = new_status(
            budget,
            healthy=count_healthy(pods, disrupted.pods, now),
            desired=desired,
            expected=expected,
            disrupted=disrupted.pods,
            now=now,
        )
        return Count(status, (disrupted.recheck - now).total_seconds() if disrupted.recheck is not None else None)

    async def _expect(self, budget: V1PodDisruptionBudget, pods: list[V1Pod]) -> tuple[int, int]:
        """Return how many pods there should be, and how many of them must be healthy."""
        if not wants_scale(budget):
            expected = len(pods) if budget.spec.min_available is not None else 0
            return expected, desired_healthy(budget, expected)
        scale = await expected_scale(pods, self._scales)
        if scale.unmanaged:
            message = _UNMANAGED_PODS.format(selector_text(budget.spec.selector))
            self._recorder.event(budget, WARNING, "UnmanagedPods", message)
        return scale.total, desired_healthy(budget, scale.total)
