"""Choosing the active pods to delete when a Job has too many: duplicates of an index first, then the least advanced."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from kinformer.controllerutil.ranking import least_first
from kinformer.models import V1Job, V1Pod
from kinformer_controllers.job.modes import is_indexed
from kinformer_controllers.job.pods import valid_index

__all__ = ("active_pods_to_remove",)


def active_pods_to_remove(job: V1Job, active: Sequence[V1Pod], at_least: int) -> list[V1Pod]:
    """
    Return the pods to delete.

    For an Indexed Job these are all pods without a valid index, and all pods but one of each index. If these are fewer
    than `at_least`, further pods are added.
    """
    doomed: list[V1Pod] = []
    left: Sequence[V1Pod] = active
    if is_indexed(job):
        doomed, left = _doubles(job, active)
    if len(doomed) < at_least:
        doomed += least_first(left)[: at_least - len(doomed)]
    return doomed


def _doubles(job: V1Job, active: Iterable[V1Pod]) -> tuple[list[V1Pod], list[V1Pod]]:
    """Return the surplus pods, and the others: one for each index."""
    by_index: dict[int, list[V1Pod]] = defaultdict(list)
    doomed: list[V1Pod] = []
    left: list[V1Pod] = []
    for pod in active:
        index = valid_index(pod, job)
        if index is None:
            doomed.append(pod)
        else:
            by_index[index].append(pod)
    for _, pods in sorted(by_index.items()):
        *surplus, best = least_first(pods) if len(pods) > 1 else pods
        doomed += surplus
        left.append(best)
    return doomed, left
