"""When a pod has to leave its node. A pod, its node's taints and the time go in, a decision comes out.

A pod that does not tolerate every NoExecute taint leaves at once. One that tolerates them for some time leaves after
the shortest of these times, counted from when this controller first saw that it has to. One that tolerates them for
ever stays.

A pod that waits keeps its time, as in Kubernetes: another taint that it tolerates does not move it, not even if that
one gives it less. It leaves at once if a taint comes that it does not tolerate, and is left alone when nothing drives
it off any more.
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
    That a pod has to leave. Times are seconds of a clock that never goes back (:meth:`.Clock.monotonic`).

    :param uid: the pod's: another one of its name is not meant
    :param since: when it was found out
    :param due: when the pod is to be deleted
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
    Whether and when a pod has to leave.

    :param taints: the NoExecute taints of its node
    :param waiting: what was decided before, of this very pod
    :return: None if it may stay; `waiting` itself if that still holds
    """
    if not taints:
        return None
    used = matching_tolerations(taints, tolerations)
    if used is None:
        return waiting if waiting is not None and waiting.due <= now else Eviction(uid, now, now)
    seconds = min_toleration_seconds(used)
    if seconds is None:
        return None
    # Kubernetes keeps what was decided at any earlier time, and replaces only what is of this very moment.
    if waiting is not None and (waiting.since < now or waiting.due == now + seconds):
        return waiting
    return Eviction(uid, now, now + seconds)
