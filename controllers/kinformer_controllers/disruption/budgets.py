"""Which PodDisruptionBudgets select a pod, and which pods a budget selects; and the event handlers that need this.

Both are found in the caches of two informers. The first is needed for every change of every pod, so a budget's selector
is compiled only once for each version of the budget, and only the budgets that ask for one of the pod's labels are
looked at: a namespace may have thousands of both. The second is needed for every sync, which looks only at the pods
with one of the budget's labels. A budget is queued when it changes, or when a pod that it selects changes.
"""

from __future__ import annotations

from dataclasses import dataclass

from kinformer.cache import Deleted, Indexer, last_state
from kinformer.clock import Clock
from kinformer.controllerutil.pods import counts_otherwise
from kinformer.controllerutil.selecting import selected_by
from kinformer.meta import Selector, SelectorError, label_selector_as_selector, meta_namespace_key
from kinformer.models import V1Pod, V1PodDisruptionBudget
from kinformer.record import WARNING, EventRecorder
from kinformer.workqueue import RateLimitingQueue
from kinformer_controllers.disruption.stale_pods import stale_in

__all__ = (
    "LABEL_INDEX",
    "Budgets",
    "PodHandler",
    "label_index",
)

#: The name of the index by :func:`label_index`.
LABEL_INDEX = "disruption-label"


def label_index(budget: V1PodDisruptionBudget) -> tuple[str]:
    """Return one label that a budget's pods must have, with the namespace; the namespace alone if it asks for none."""
    selector = budget.spec.selector
    labels = (selector.match_labels if selector is not None else None) or {}
    return (_label_key(budget.metadata.namespace, *min(labels.items(), default=())),)


def _label_key(namespace: str, label: str = "", value: str = "") -> str:
    return f"{namespace}/{label}={value}"


class Budgets:
    """
    Finds budgets by pod, and pods by budget.

    :param budgets: the cache of budgets, with its index :data:`LABEL_INDEX`
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
        namespace, labels = pod.metadata.namespace, pod.metadata.labels or {}
        keys = (*(_label_key(namespace, *label) for label in labels.items()), _label_key(namespace))
        return [
            budget
            for key in keys
            for budget in self._budgets.by_index(LABEL_INDEX, key)
            if (selector := self._selector_of(budget)) is not None and selector.matches(labels)
        ]

    def pods_of(self, budget: V1PodDisruptionBudget) -> list[V1Pod]:
        """
        Return the pods that a budget selects. An empty selector selects all of the namespace, a missing one none.

        :raises SelectorError: if its selector is invalid
        """
        selector = label_selector_as_selector(budget.spec.selector)
        return selected_by(self._pods, budget.metadata.namespace, selector)

    def forget(self, key: str, uid: str) -> None:
        """Forget a budget that is gone."""
        self._compiled.pop(uid, None)

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


@dataclass(eq=False, slots=True)
class PodHandler:
    """
    An event handler for pods.

    :param queue: gets the keys of all budgets that select the pod
    :param stale_pods: gets the key of a pod whose DisruptionTarget condition is or will be stale
    """

    queue: RateLimitingQueue[str]
    stale_pods: RateLimitingQueue[str]
    budgets: Budgets
    recorder: EventRecorder
    clock: Clock

    def on_add(self, obj: V1Pod, is_in_initial_list: bool, /) -> None:
        self._enqueue_budgets_of(obj)
        self._look_again_when_stale(obj)

    def on_update(self, old: V1Pod, new: V1Pod, /) -> None:
        if old.metadata.labels != new.metadata.labels:
            # kube-controller-manager queues only a budget that selects the pod now. The budgets that selected it
            # before would still count the pod, and would allow too many evictions.
            self._enqueue_budgets_of(old)
        # kube-controller-manager counts again after each change. A budget has the same status after most of them.
        if old.metadata.resource_version == new.metadata.resource_version or counts_otherwise(old, new):
            self._enqueue_budgets_of(new)
        self._look_again_when_stale(new)

    def on_delete(self, obj: Deleted[V1Pod], /) -> None:
        pod = last_state(obj)
        if pod is not None:
            self._enqueue_budgets_of(pod)

    def _look_again_when_stale(self, pod: V1Pod) -> None:
        wait = stale_in(pod, self.clock.now())
        if wait is not None:
            self.stale_pods.add_after(meta_namespace_key(pod), wait.total_seconds())

    def _enqueue_budgets_of(self, pod: V1Pod) -> None:
        """
        Queue all budgets that select a pod.

        kube-controller-manager queues only one of them. The counts of the others go stale, and an eviction of their
        last healthy pod is allowed.
        """
        budgets = self.budgets.of_pod(pod)
        if len(budgets) > 1:
            meta = pod.metadata
            self.recorder.event(
                pod,
                WARNING,
                "MultiplePodDisruptionBudgets",
                f'Pod "{meta.namespace}"/"{meta.name}" matches multiple PodDisruptionBudgets.  '
                f'Chose "{budgets[0].metadata.name}" arbitrarily.',
            )
        for budget in budgets:
            self.queue.add(meta_namespace_key(budget))
