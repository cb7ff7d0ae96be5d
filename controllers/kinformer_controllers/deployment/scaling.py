"""Scaling a Deployment: its ReplicaSets share what is added or taken away, in proportion to their size. No I/O.

So a roll-out that is under way goes neither faster nor slower because of it. Sizes are given, nobody is told.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kinformer.models import V1Deployment, V1ReplicaSet
from kinformer_controllers.deployment.annotations import (
    DESIRED_REPLICAS,
    MAX_REPLICAS,
    annotations_of,
    count_in,
    integer_in,
)
from kinformer_controllers.deployment.counts import active, age, available, desired, total_replicas
from kinformer_controllers.deployment.limits import is_rolling_update, max_surge

__all__ = ("Size", "active_or_latest", "is_being_scaled", "is_saturated", "plan_scaling", "proportion")


class Size(NamedTuple):
    """
    :param replicas: how many the ReplicaSet is to have
    :param force: write what its annotations should say even if it has as many
    """

    replica_set: V1ReplicaSet
    replicas: int
    force: bool = False


def is_being_scaled(deployment: V1Deployment, replica_sets: Iterable[V1ReplicaSet]) -> bool:
    """Whether the Deployment asks for another number than when its ReplicaSets were scaled last."""
    return any(count_in(each, DESIRED_REPLICAS) not in (None, desired(deployment)) for each in active(replica_sets))


def active_or_latest(new: V1ReplicaSet | None, old: Sequence[V1ReplicaSet]) -> V1ReplicaSet | None:
    """The only one with pods, or the newest if none has any; None if several have."""
    all_ = [*old, *([new] if new is not None else [])]
    with_pods = active(all_)
    if len(with_pods) > 1:
        return None
    if with_pods:
        return with_pods[0]
    return new if new is not None else max(old, key=age, default=None)


def is_saturated(deployment: V1Deployment, replica_set: V1ReplicaSet | None) -> bool:
    """Whether a ReplicaSet has all pods of the Deployment, all available, and both agree on how many that is."""
    if replica_set is None:
        return False
    wanted = desired(deployment)
    agreed = integer_in(annotations_of(replica_set).get(DESIRED_REPLICAS, "")) == wanted
    return agreed and desired(replica_set) == wanted and available(replica_set) == wanted


def plan_scaling(deployment: V1Deployment, new: V1ReplicaSet | None, old: Sequence[V1ReplicaSet]) -> list[Size]:
    """What size each ReplicaSet is to have, the largest first, when the Deployment asks for another number."""
    wanted = desired(deployment)
    if (only := active_or_latest(new, old)) is not None:
        return [Size(only, wanted)] if desired(only) != wanted else []
    if is_saturated(deployment, new):
        # One that was adopted since: there are pods enough.
        return [Size(each, 0) for each in active(old)]
    if not is_rolling_update(deployment):
        return []
    return _in_proportion(deployment, active([*old, *([new] if new is not None else [])]))


def proportion(deployment: V1Deployment, replica_set: V1ReplicaSet, to_add: int, added: int) -> int:
    """
    A ReplicaSet's share.

    :param to_add: pods to be added, below zero to be taken away
    :param added: what others have been given of them
    """
    if desired(replica_set) == 0 or to_add in (0, added):
        return 0
    share, left = _share(deployment, replica_set), to_add - added
    return min(share, left) if to_add > 0 else max(share, left)


def _in_proportion(deployment: V1Deployment, replica_sets: list[V1ReplicaSet]) -> list[Size]:
    wanted = desired(deployment)
    allowed = wanted + max_surge(deployment) if wanted > 0 else 0
    to_add = allowed - total_replicas(replica_sets)
    # Of the same size, newer ones grow first and older ones shrink first.
    replica_sets.sort(key=age, reverse=to_add > 0)
    replica_sets.sort(key=desired, reverse=True)
    sizes: list[int] = []
    added = 0
    for each in replica_sets:
        share = proportion(deployment, each, to_add, added)
        sizes.append(desired(each) + share)
        added += share
    if sizes:
        # What rounding has left over is the largest one's.
        sizes[0] = max(sizes[0] + to_add - added, 0)
    return [Size(each, size, force=True) for each, size in zip(replica_sets, sizes, strict=True)]


def _share(deployment: V1Deployment, replica_set: V1ReplicaSet) -> int:
    """What a ReplicaSet would be given if nobody else was."""
    have = desired(replica_set)
    if desired(deployment) == 0:
        return -have
    before = count_in(replica_set, MAX_REPLICAS) or (deployment.status.replicas if deployment.status else 0) or 0
    if before == 0:
        # Somebody has removed the annotation, and pods cannot be made.
        return 0
    size = have * (desired(deployment) + max_surge(deployment)) / before
    # Halves are rounded away from zero.
    return math.trunc(size + math.copysign(0.5, size)) - have
