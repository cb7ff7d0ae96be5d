"""Which active pods go when a Job has too many: doubles of an index first, then those that have come least far."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from kinformer.models import V1Job, V1Pod
from kinformer_controllers.job.pods import valid_index
from kinformer_controllers.job.spec import is_indexed
from kinformer_controllers.shared.owning.ranking import least_first

__all__ = ("active_pods_to_remove",)


def active_pods_to_remove(job: V1Job, active: Sequence[V1Pod], at_least: int) -> list[V1Pod]:
    """
    The pods to delete.

    Of an Indexed Job these are all pods without an index that it has, and all but one of each index; and from what is
    left as many as it takes until they are `at_least` so many.
    """
    doomed: list[V1Pod] = []
    left: Sequence[V1Pod] = active
    if is_indexed(job):
        doomed, left = _doubles(job, active)
    if len(doomed) < at_least:
        doomed += least_first(left)[: at_least - len(doomed)]
    return doomed


def _doubles(job: V1Job, active: Iterable[V1Pod]) -> tuple[list[V1Pod], list[V1Pod]]:
    """The pods that are one too many, and those that are left, one an index."""
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
