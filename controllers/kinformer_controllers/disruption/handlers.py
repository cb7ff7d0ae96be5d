"""Event handlers that queue a budget when it changes, or when a pod that it selects changes."""

from __future__ import annotations

from kinformer.cache import Deleted, deletion_handling_key, last_state
from kinformer.clock import Clock
from kinformer.meta import meta_namespace_key
from kinformer.models import V1Pod, V1PodDisruptionBudget
from kinformer.record import WARNING, EventRecorder
from kinformer.workqueue import RateLimitingQueue
from kinformer_controllers.disruption.budgets import Budgets
from kinformer_controllers.disruption.stale_condition import stale_in

__all__ = ("BudgetHandler", "PodHandler")


class BudgetHandler:
    """An event handler for budgets."""

    def __init__(self, queue: RateLimitingQueue[str], budgets: Budgets) -> None:
        self._queue = queue
        self._budgets = budgets

    def on_add(self, obj: V1PodDisruptionBudget, is_in_initial_list: bool, /) -> None:
        self._queue.add(meta_namespace_key(obj))

    def on_update(self, old: V1PodDisruptionBudget, new: V1PodDisruptionBudget, /) -> None:
        if old.metadata.uid != new.metadata.uid:
            self._budgets.forget(old)
        self._queue.add(meta_namespace_key(new))

    def on_delete(self, obj: Deleted[V1PodDisruptionBudget], /) -> None:
        self._queue.add(deletion_handling_key(obj))
        budget = last_state(obj)
        if budget is not None:
            self._budgets.forget(budget)


class PodHandler:
    """
    An event handler for pods.

    :param queue: gets the keys of all budgets that select the pod
    :param stale_pods: gets the key of a pod whose DisruptionTarget condition is or will be stale
    """

    def __init__(
        self,
        queue: RateLimitingQueue[str],
        stale_pods: RateLimitingQueue[str],
        budgets: Budgets,
        recorder: EventRecorder,
        clock: Clock,
    ) -> None:
        self._queue = queue
        self._stale_pods = stale_pods
        self._budgets = budgets
        self._recorder = recorder
        self._clock = clock

    def on_add(self, obj: V1Pod, is_in_initial_list: bool, /) -> None:
        self._seen(obj)

    def on_update(self, old: V1Pod, new: V1Pod, /) -> None:
        if old.metadata.labels != new.metadata.labels:
            # kube-controller-manager queues only a budget that selects the pod now. The budgets that selected it
            # before would still count the pod, and would allow too many evictions.
            self._enqueue_budgets_of(old)
        self._seen(new)

    def on_delete(self, obj: Deleted[V1Pod], /) -> None:
        pod = last_state(obj)
        if pod is not None:
            self._enqueue_budgets_of(pod)

    def _seen(self, pod: V1Pod) -> None:
        self._enqueue_budgets_of(pod)
        wait = stale_in(pod, self._clock.now())
        if wait is not None:
            self._stale_pods.add_after(meta_namespace_key(pod), wait.total_seconds())

    def _enqueue_budgets_of(self, pod: V1Pod) -> None:
        """
        Queue all budgets that select a pod.

        kube-controller-manager queues only one of them. The counts of the others go stale, and an eviction of their
        last healthy pod is allowed.
        """
        budgets = self._budgets.of_pod(pod)
        if len(budgets) > 1:
            meta = pod.metadata
            self._recorder.event(
                pod,
                WARNING,
                "MultiplePodDisruptionBudgets",
                f'Pod "{meta.namespace}"/"{meta.name}" matches multiple PodDisruptionBudgets.  '
                f'Chose "{budgets[0].metadata.name}" arbitrarily.',
            )
        for budget in budgets:
            self._queue.add(meta_namespace_key(budget))
