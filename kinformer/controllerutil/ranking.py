"""The order in which active pods are deleted when there are too many. The first do the least harm when they are lost.

Two pods are compared by these rules, in this order, until one of them decides (Kubernetes' ActivePodsWithRanks):

1. not assigned to a node before assigned
2. pending before unknown before running
3. not ready before ready
4. lower ``controller.kubernetes.io/pod-deletion-cost`` before higher
5. more related pods on the same node before fewer
6. ready for a shorter time before longer
7. more restarts of a container before fewer; if they are equal, the same for sidecars
8. younger before older

Ages (rules 6 and 8) are rounded down to a power of two. If the rounded ages are equal, the lower uid goes first.
Otherwise the newest pods would always be deleted, and these are often all in the zone of the last rollout.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from functools import cmp_to_key
from typing import Final, NamedTuple

from prometheus_client import Histogram

from kinformer.controllerutil.pods import is_pod_active, is_pod_ready, pod_status, ready_condition
from kinformer.meta.integers import read_integer
from kinformer.models import V1Pod

__all__ = (
    "DELETION_COST",
    "colocation_ranks",
    "deletion_cost",
    "least_first",
    "pods_to_delete",
    "sort_for_deletion",
)

#: The annotation with which a user says which pods should be deleted first.
DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"

_COST = re.compile(r"0|-[0-9]+|[1-9][0-9]*", re.ASCII)
_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}
_MICROSECOND = timedelta(microseconds=1)
_MILLISECOND = timedelta(milliseconds=1)

_AGE_RATIO: Final = Histogram(
    "replicaset_controller_sorting_deletion_age_ratio",
    "The age of each ready pod that is chosen for deletion, divided by the age of the youngest ready pod. "
    "Values below 2 are expected.",
    buckets=(0.25, 0.5, 1, 2, 4, 8),
)


def pods_to_delete(active: Sequence[V1Pod], related: Iterable[V1Pod], count: int, now: datetime) -> list[V1Pod]:
    """
    Return the first `count` of `active` in the order of deletion.

    :param related: for rule 5: all pods of controllers with the same owner, including those in `active`
    """
    if count >= len(active):
        return list(active)
    ordered = sort_for_deletion(active, colocation_ranks(active, related), now)
    _observe_age_ratios(active, ordered[:count], now)
    return ordered[:count]


def colocation_ranks(pods: Iterable[V1Pod], related: Iterable[V1Pod]) -> list[int]:
    """Return, for each pod, how many active related pods are on its node."""
    on_node = Counter(_node(pod) for pod in related if is_pod_active(pod))
    return [on_node[_node(pod)] for pod in pods]


def sort_for_deletion(pods: Sequence[V1Pod], ranks: Sequence[int], now: datetime) -> list[V1Pod]:
    """
    Return the pods in the order of deletion.

    :param ranks: for each pod its number for rule 5, from :func:`colocation_ranks`
    :param now: the time at which ages are measured
    """
    traits = [_traits(pod, rank, now) for pod, rank in zip(pods, ranks, strict=True)]
    order = _sorted_as_go(range(len(pods)), lambda one, other: _compare(traits[one], traits[other]))
    return [pods[index] for index in order]


def least_first(pods: Iterable[V1Pod]) -> list[V1Pod]:
    """
    Sort active pods by rules 1 to 3 and 6 to 8, without rounding ages (Kubernetes' ActivePods).
    """
    return sorted(pods, key=_progress)


def _progress(pod: V1Pod) -> tuple[bool, int, bool, float, int, int, float]:
    status, condition = pod_status(pod), ready_condition(pod)
    ready = condition is not None and condition.status == "True"
    since = condition.last_transition_time if condition is not None and ready else None
    phase = _PHASES.get(status.phase or "", 0) if status is not None else 0
    regular, sidecars = _restarts(pod)
    return (
        _node(pod) != "",
        phase,
        ready,
        _newest_first(since),
        -regular,
        -sidecars,
        _newest_first(pod.metadata.creation_timestamp),
    )


def deletion_cost(pod: V1Pod) -> int:
    """Return the pod's deletion cost; 0 if the annotation is missing or is not a decimal 32-bit number."""
    text = (pod.metadata.annotations or {}).get(DELETION_COST, "0")
    return (read_integer(text, 32) or 0) if _COST.fullmatch(text) else 0


def _observe_age_ratios(active: Iterable[V1Pod], doomed: Iterable[V1Pod], now: datetime) -> None:
    """Observe the age ratio of each ready pod that is deleted. The ratio is rounded down, as in Kubernetes."""
    made = [pod.metadata.creation_timestamp for pod in active if is_pod_ready(pod) and pod.metadata.creation_timestamp]
    youngest = (now - max(made)) // _MILLISECOND if made else 0
    if youngest <= 0:
        return
    for pod in doomed:
        if is_pod_ready(pod) and pod.metadata.creation_timestamp:
            _AGE_RATIO.observe((now - pod.metadata.creation_timestamp) // _MILLISECOND // youngest)


class _Traits(NamedTuple):
    #: Rules 1 to 5 as one key: the pod with the lower key goes first.
    plain: tuple[bool, int, bool, int, int]
    ready: bool
    ready_since: datetime | None
    ready_magnitude: int
    restarts: tuple[int, int]
    created: datetime | None
    age_magnitude: int
    uid: str


def _traits(pod: V1Pod, rank: int, now: datetime) -> _Traits:
    status = pod_status(pod)
    condition = ready_condition(pod)
    ready = condition is not None and condition.status == "True"
    since = condition.last_transition_time if condition is not None and ready else None
    created = pod.metadata.creation_timestamp
    phase = _PHASES.get(status.phase or "", 0) if status is not None else 0
    return _Traits(
        plain=(_node(pod) != "", phase, ready, deletion_cost(pod), -rank),
        ready=ready,
        ready_since=since,
        ready_magnitude=_magnitude(since, now),
        restarts=_restarts(pod),
        created=created,
        age_magnitude=_magnitude(created, now),
        uid=pod.metadata.uid or "",
    )


def _compare(one: _Traits, other: _Traits) -> int:
    """Return a negative number if `one` goes first, zero if no rule decides."""
    if one.plain != other.plain:
        return -1 if one.plain < other.plain else 1
    if one.ready and other.ready and one.ready_since != other.ready_since:
        return _compare_ages(one, other, one.ready_since, other.ready_since, one.ready_magnitude, other.ready_magnitude)
    if one.restarts != other.restarts:
        return -1 if one.restarts > other.restarts else 1
    if one.created != other.created:
        return _compare_ages(one, other, one.created, other.created, one.age_magnitude, other.age_magnitude)
    return 0


def _compare_ages(
    one: _Traits, other: _Traits, since: datetime | None, other_since: datetime | None, age: int, other_age: int
) -> int:
    if since is None or other_since is None:
        return -1 if since is None else 1
    if age != other_age:
        return -1 if age < other_age else 1
    return -1 if one.uid < other.uid else 1


def _magnitude(since: datetime | None, now: datetime) -> int:
    """Return the binary logarithm of the age in nanoseconds, rounded down; -1 if there is no age."""
    age = (now - since) // _MICROSECOND * 1000 if since is not None else 0
    return age.bit_length() - 1 if age > 0 else -1


def _restarts(pod: V1Pod) -> tuple[int, int]:
    """Return the highest number of restarts of a container, and of a sidecar."""
    status, spec = pod_status(pod), pod.spec
    if status is None:
        return 0, 0
    regular = max((container.restart_count or 0 for container in status.container_statuses or ()), default=0)
    if not status.init_container_statuses or spec is None:
        return regular, 0
    sidecars = {container.name for container in spec.init_containers or () if container.restart_policy == "Always"}
    restarts = (state.restart_count or 0 for state in status.init_container_statuses if state.name in sidecars)
    return regular, max(restarts, default=0)


def _node(pod: V1Pod) -> str:
    spec = pod.spec
    return (spec.node_name or "") if spec is not None else ""


#: Go's sort is an insertion sort up to this number of elements.
_GO_INSERTION_SORT = 12


def _sorted_as_go(items: Iterable[int], compare: Callable[[int, int], int]) -> list[int]:
    """
    Sort as Go's sort.Sort does.

    Rules 6 to 8 are not transitive: among three pods, the uid may decide between two of them, and restarts between the
    others. Then the result depends on which pods are compared. For up to 12 pods the comparisons are the same as Go's.
    For more, Go's own result is not specified.
    """
    ordered = list(items)
    if len(ordered) > _GO_INSERTION_SORT:
        return sorted(ordered, key=cmp_to_key(compare))
    for end in range(1, len(ordered)):
        place = end
        while place > 0 and compare(ordered[place], ordered[place - 1]) < 0:
            ordered[place], ordered[place - 1] = ordered[place - 1], ordered[place]
            place -= 1
    return ordered


def _newest_first(moment: datetime | None) -> float:
    """Return a sort key that puts later times first. No time at all comes before every time."""
    return -moment.timestamp() if moment is not None else -math.inf
