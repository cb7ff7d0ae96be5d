"""Which PodDisruptionBudgets select a pod, and which pods a budget selects.

Both questions are answered from the caches of two informers. A budget's selector is compiled once for each of its
versions, since the first question is asked for every change of every pod.
"""

from __future__ import annotations

from kinformer.cache import NAMESPACE_INDEX, Indexer
from kinformer.meta import Selector, SelectorError, label_selector_as_selector
from kinformer.models import V1Pod, V1PodDisruptionBudget

__all__ = ("Budgets",)


class Budgets:
    """
    Budgets and pods, found by each other.

    :param budgets: the cache of budgets, with its index by namespace
    :param pods: the cache of pods, with its index by namespace
    """

    def __init__(self, budgets: Indexer[V1PodDisruptionBudget], pods: Indexer[V1Pod]) -> None:
        self._budgets = budgets
        self._pods = pods
        #: By the budget's uid: the version that was compiled, and its selector. None where it cannot be understood.
        self._compiled: dict[str, tuple[str, Selector | None]] = {}

    def __len__(self) -> int:
        """How many selectors are remembered."""
        return len(self._compiled)

    def of_pod(self, pod: V1Pod) -> list[V1PodDisruptionBudget]:
        """The budgets that select a pod. One whose selector is not valid selects none."""
        labels = pod.metadata.labels
        return [
            budget
            for budget in self._budgets.by_index(NAMESPACE_INDEX, pod.metadata.namespace)
            if (selector := self._selector_of(budget)) is not None and selector.matches(labels)
        ]

    def pods_of(self, budget: V1PodDisruptionBudget) -> list[V1Pod]:
        """
        The pods that a budget selects: all of its namespace for an empty selector, none for one that is missing.

        :raises SelectorError: if its selector is not valid
        """
        selector = label_selector_as_selector(budget.spec.selector)
        pods = self._pods.by_index(NAMESPACE_INDEX, budget.metadata.namespace)
        return [pod for pod in pods if selector.matches(pod.metadata.labels)]

    def forget(self, budget: V1PodDisruptionBudget) -> None:
        """Drop what is remembered of a budget that is gone."""
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
