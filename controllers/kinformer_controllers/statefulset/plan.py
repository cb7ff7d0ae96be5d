"""Planning what a sync of a StatefulSet does with each pod. Pure functions: pods and a time in, steps out.

First the state of a pod, then the plan. Pods are created in the order of their ordinals, and deleted in reverse order.
With the pod management policy OrderedReady each step waits until the one before it is complete; with Parallel no step
waits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, auto
from itertools import chain, islice
from typing import overload

from kinformer.controllerutil.pods import is_pod_available, is_pod_ready, is_pod_terminal, pod_phase
from kinformer.meta import scaled_value
from kinformer.models import V1Pod, V1StatefulSet
from kinformer_controllers.statefulset.pods import (
    Version,
    is_in_range,
    ordinal_of,
    pod_for_ordinal,
    replicas_of,
    revision_of,
    start_ordinal,
)

__all__ = (
    "Layout",
    "Replicas",
    "Step",
    "is_available",
    "is_created",
    "is_pending",
    "is_running_and_ready",
    "is_terminating",
    "lay_out",
    "may_remove",
    "pods_to_update",
    "step_for",
)


def is_created(pod: V1Pod) -> bool:
    """Whether the pod exists on the server. A planned pod has no phase."""
    return pod_phase(pod) != ""


def is_pending(pod: V1Pod) -> bool:
    return pod_phase(pod) == "Pending"


def _has_ended(pod: V1Pod) -> bool:
    """
    Whether the pod has failed or succeeded.

    In both cases it is created again. Which of the two phases an evicted pod gets depends only on its containers' exit
    codes.
    """
    return is_pod_terminal(pod)


def is_terminating(pod: V1Pod) -> bool:
    return bool(pod.metadata.deletion_timestamp)


def is_running_and_ready(pod: V1Pod) -> bool:
    return pod_phase(pod) == "Running" and is_pod_ready(pod)


def is_available(pod: V1Pod, min_ready_seconds: int, now: datetime) -> bool:
    return is_pod_available(pod, min_ready_seconds, now)


def _is_unavailable(pod: V1Pod, min_ready_seconds: int, now: datetime) -> bool:
    """Whether the pod is not available, or is being deleted."""
    return is_terminating(pod) or not is_available(pod, min_ready_seconds, now)


class Step(Enum):
    """The step for a pod in the StatefulSet's range."""

    #: It has ended: delete it. When it is gone, the next sync creates it again.
    DELETE = auto()
    #: It does not exist: create it.
    CREATE = auto()
    #: It is starting or stopping, and all others have to wait for it.
    WAIT = auto()
    #: It exists: correct its identity, storage and claims if needed, and continue with the next pod.
    KEEP = auto()


class Replicas(Sequence[V1Pod]):
    """
    The pods in a StatefulSet's range, by ordinal. A missing pod is represented by the object that would be created.

    That object is made only when it is read, because a StatefulSet may ask for two thousand million pods.

    :param current: the version that pods were made from
    :param update: the version that new pods are made from
    :param there: the existing pods, by ordinal
    :param ordinals: the StatefulSet's range of ordinals
    """

    __slots__ = ("_current", "_ordinals", "_there", "_update")

    def __init__(self, current: Version, update: Version, there: Mapping[int, V1Pod], ordinals: range) -> None:
        self._current = current
        self._update = update
        self._there = there
        self._ordinals = ordinals

    def __len__(self) -> int:
        return len(self._ordinals)

    @overload
    def __getitem__(self, index: int, /) -> V1Pod: ...

    @overload
    def __getitem__(self, index: slice, /) -> Replicas: ...

    def __getitem__(self, index: int | slice, /) -> V1Pod | Replicas:
        if isinstance(index, slice):
            return Replicas(self._current, self._update, self._there, self._ordinals[index])
        ordinal = self._ordinals[index]
        pod = self._there.get(ordinal)
        return pod if pod is not None else pod_for_ordinal(self._current, self._update, ordinal)


@dataclass(frozen=True, slots=True)
class Layout:
    """
    The pods of a StatefulSet in two groups.

    :ivar replicas: the pods in its range, by ordinal
    :ivar condemned: the pods outside its range, which must be deleted; the highest ordinal is first
    :ivar there: the existing pods of both groups
    :ivar first_unavailable: the unavailable pod with the lowest ordinal in `replicas`, or else in `condemned`
    """

    replicas: Replicas
    condemned: list[V1Pod]
    there: list[V1Pod]
    first_unavailable: V1Pod | None


def lay_out(
    current: Version, update: Version, statefulset: V1StatefulSet, pods: Iterable[V1Pod], now: datetime
) -> Layout:
    """Divide pods into those that stay and those that must be deleted. A pod without an ordinal is left out."""
    there: dict[int, V1Pod] = {}
    condemned = []
    for pod in pods:
        ordinal = ordinal_of(pod)
        if is_in_range(statefulset, pod):
            there[ordinal] = pod
        elif ordinal >= 0:
            condemned.append(pod)
    start = start_ordinal(statefulset)
    replicas = Replicas(current, update, there, range(start, start + replicas_of(statefulset)))
    condemned.sort(key=ordinal_of, reverse=True)
    min_ready_seconds = statefulset.spec.min_ready_seconds or 0
    in_order = chain(replicas, reversed(condemned))
    first = next((pod for pod in in_order if _is_unavailable(pod, min_ready_seconds, now)), None)
    return Layout(replicas, condemned, [*there.values(), *condemned], first)


def step_for(statefulset: V1StatefulSet, pod: V1Pod, *, ordered: bool, now: datetime) -> Step:
    """
    Return the step for a pod in the StatefulSet's range.

    :param ordered: whether each pod waits for the one before it
    """
    if _has_ended(pod):
        return Step.WAIT if is_terminating(pod) else Step.DELETE
    if not is_created(pod):
        return Step.CREATE
    if ordered:
        min_ready_seconds = statefulset.spec.min_ready_seconds or 0
        ready = is_running_and_ready(pod) and is_available(pod, min_ready_seconds, now)
        if is_terminating(pod) or not ready:
            return Step.WAIT
    return Step.KEEP


def may_remove(
    statefulset: V1StatefulSet, pod: V1Pod, first_unavailable: V1Pod | None, *, ordered: bool, now: datetime
) -> bool:
    """
    Whether a condemned pod may be deleted now.

    If `ordered`, a pod waits until all others are available. But the first unavailable pod may be deleted itself,
    because it would be waited for without end.
    """
    if is_terminating(pod):
        return False
    if not ordered or pod is first_unavailable:
        return True
    return is_running_and_ready(pod) and is_available(pod, statefulset.spec.min_ready_seconds or 0, now)


def pods_to_update(statefulset: V1StatefulSet, replicas: Sequence[V1Pod], revision: str, now: datetime) -> list[V1Pod]:
    """
    Return the pods to delete, so that they are created again from the new revision. The highest ordinal is first.

    It is one pod at a time, and it waits for every pod above it. With ``maxUnavailable`` it is as many pods as may be
    unavailable. In Kubernetes 1.36 this field is behind a feature gate that is off by default; then the API server
    drops the field.

    :param revision: the name of the new revision
    :raises ValueError: if ``maxUnavailable`` is neither an integer nor a percentage
    """
    strategy = statefulset.spec.update_strategy
    if strategy is not None and strategy.type == "OnDelete":
        return []
    rolling = strategy.rolling_update if strategy is not None else None
    partition = (rolling.partition or 0) if rolling is not None else 0
    candidates = reversed(replicas[partition:])
    if rolling is not None and rolling.max_unavailable is not None:
        return _as_many_as_allowed(statefulset, replicas, candidates, rolling.max_unavailable, revision, now)
    min_ready_seconds = statefulset.spec.min_ready_seconds or 0
    for pod in candidates:
        if _is_outdated(pod, revision):
            return [pod]
        if _is_unavailable(pod, min_ready_seconds, now):
            return []
    return []


def _as_many_as_allowed(
    statefulset: V1StatefulSet,
    replicas: Sequence[V1Pod],
    candidates: Iterable[V1Pod],
    limit: int | str,
    revision: str,
    now: datetime,
) -> list[V1Pod]:
    allowed = max(scaled_value(limit, replicas_of(statefulset), round_up=False), 1)
    min_ready_seconds = statefulset.spec.min_ready_seconds or 0
    left = allowed - sum(_is_unavailable(pod, min_ready_seconds, now) for pod in replicas)
    return list(islice((pod for pod in candidates if _is_outdated(pod, revision)), max(left, 0)))


def _is_outdated(pod: V1Pod, revision: str) -> bool:
    return revision_of(pod) != revision and not is_terminating(pod)
