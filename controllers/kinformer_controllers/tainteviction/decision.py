"""Deciding when a pod has to be evicted. Pure functions: tolerations, taints and the time in, a decision out.

If a pod does not tolerate every NoExecute taint, it is evicted at once. If it tolerates them for a limited time, it is
evicted after the shortest of these times, counted from when this controller first saw this. If it tolerates them
without a limit, it stays.

A waiting pod keeps its time, as in Kubernetes: another taint that it tolerates does not change the time, even if it
tolerates that taint for a shorter time. The pod is evicted at once if it gets a taint that it does not tolerate, and it
stays if no taint applies any more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kinformer.models import V1Taint, V1Toleration
from kinformer.placement.taints import matching_tolerations, min_toleration_seconds

__all__ = ("Eviction", "decide")


@dataclass(frozen=True, slots=True)
class Eviction:
    """
    A pod that has to be evicted. Times are monotonic seconds (:meth:`.Clock.monotonic`).

    :param uid: the pod's uid
    :param since: when this was decided
    :param due: when the pod must be deleted
    """

    uid: str
    since: float
    due: float


def decide(
    uid: str,
    tolerations: Sequence[V1Toleration] | None,
    taints: Sequence[V1Taint],
    waiting: Eviction | None,
    now: float,
) -> Eviction | None:
    """
    Decide whether and when a pod has to be evicted.

    :param taints: the NoExecute taints of its node
    :param waiting: the earlier decision about this pod; None if there is none
    :return: None if it may stay; `waiting` itself if the decision has not changed
    """
    if not taints:
        return None
    used = matching_tolerations(taints, tolerations)
    if used is None:
        return waiting if waiting is not None and waiting.due <= now else Eviction(uid, now, now)
    seconds = min_toleration_seconds(used)
    if seconds is None:
        return None
    # Kubernetes keeps a decision from an earlier time. It replaces only a decision from the same moment.
    if waiting is not None and (waiting.since < now or waiting.due == now + seconds):
        return waiting
    return Eviction(uid, now, now + seconds)
