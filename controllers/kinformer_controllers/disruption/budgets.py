"""Finding the PodDisruptionBudgets that select a pod, and the pods that a budget selects.

Both are found in the caches of two informers. The first is needed for every change of every pod, so a budget's selector
is compiled only once for each version of the budget.
"""

from __future__ import annotations

from kinformer.cache import NAMESPACE_INDEX, Indexer
from kinformer.meta import Selector, SelectorError, label_selector_as_selector
from kinformer.models import V1Pod, V1PodDisruptionBudget

__all__ = ("Budgets",)


class Budgets:
    """
    Finds budgets by pod, and pods by budget.

    :param budgets: the cache of budgets, with its index by namespace
    :param pods: the cache of pods, with its index by namespace
    """

    def __init__(self, budgets: Indexer[V1PodDisruptionBudget], pods: Indexer[V1Pod]) -> None:
        self._budgets = budgets
        self._pods = pods
        #: By the budget's uid: its resource version, and its compiled selector; None if the selector is invalid.
        self._compiled: dict[str, tuple[str, Selector | None]] = {}

    def __len__(self) -> int:
        """Return the number of selectors that are remembered."""
        return len(self._compiled)

    def of_pod(self, pod: V1Pod) -> list[V1PodDisruptionBudget]:
        """Return the budgets that select a pod. A budget with an invalid selector selects none."""
        labels = pod.metadata.labels
        return [
            budget
            for budget in self._budgets.by_index(NAMESPACE_INDEX, pod.metadata.namespace)
            if (selector := self._selector_of(budget)) is not None and selector.matches(labels)
        ]

    def pods_of(self, budget: V1PodDisruptionBudget) -> list[V1Pod]:
        """
        Return the pods that a budget selects. An empty selector selects all of the namespace, a missing one none.

        :raises SelectorError: if its selector is invalid
        """
        selector = label_selector_as_selector(budget.spec.selector)
        pods = self._pods.by_index(NAMESPACE_INDEX, budget.metadata.namespace)
        return [pod for pod in pods if selector.matches(pod.metadata.labels)]

    def forget(self, budget: V1PodDisruptionBudget) -> None:
        """Forget a budget that is gone."""
        self._compiled.pop(budget.metadata.uid, None)

    def _selector_of(self, budget: V1PodDisruptionBudget) -> Selector | None:
        meta = budget.metadata
        known = self._compiled.get(meta.uid)
        if known is not None and known[0] == meta.resource_version:
            return known[1]
        try:
            selector = label_selector_as_selector(budget.spec.selector)
        except SelectorError:
            selector = None
        self._compiled[meta.uid] = meta.resource_version, selector
        return selector
