"""Planning the sizes of a Deployment's ReplicaSets. No I/O.

When the Deployment was scaled during a rollout, its ReplicaSets grow or shrink in proportion: so scaling makes the
rollout neither faster nor slower. Otherwise a rolling update goes on: the new ReplicaSet grows within the surge, then
old ones shrink. The next step follows when the ReplicaSets' statuses show that the pods of the last step were created
or deleted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from kinformer.meta.integers import read_integer
from kinformer.models import V1Deployment, V1ReplicaSet
from kinformer_controllers.deployment.annotations import (
    DESIRED_REPLICAS,
    MAX_REPLICAS,
    annotations_of,
    count_in,
)
from kinformer_controllers.deployment.limits import (
    active,
    age,
    available,
    desired,
    is_rolling_update,
    max_surge,
    max_unavailable,
    new_replicas,
    total_replicas,
)

__all__ = (
    "Size",
    "active_or_latest",
    "is_being_scaled",
    "is_saturated",
    "plan_new",
    "plan_old",
    "plan_scaling",
    "proportion",
)


class Size(NamedTuple):
    """
    A new size of a ReplicaSet.

    :param replicas: the new number of replicas
    :param force: whether to write the annotations even if the number is the same
    """

    replica_set: V1ReplicaSet
    replicas: int
    force: bool = False


def is_being_scaled(deployment: V1Deployment, replica_sets: Iterable[V1ReplicaSet]) -> bool:
    """Whether the Deployment's replicas have changed since its ReplicaSets were last scaled."""
    return any(count_in(each, DESIRED_REPLICAS) not in (None, desired(deployment)) for each in active(replica_sets))


def active_or_latest(new: V1ReplicaSet | None, old: Sequence[V1ReplicaSet]) -> V1ReplicaSet | None:
    """Return the only ReplicaSet with pods, or the newest if none has pods; None if several have pods."""
    all_ = [*old, *([new] if new is not None else [])]
    with_pods = active(all_)
    if len(with_pods) > 1:
        return None
    if with_pods:
        return with_pods[0]
    return new if new is not None else max(old, key=age, default=None)


def is_saturated(deployment: V1Deployment, replica_set: V1ReplicaSet | None) -> bool:
    """Whether a ReplicaSet has all desired pods of the Deployment, all are available, and it was scaled to them."""
    if replica_set is None:
        return False
    wanted = desired(deployment)
    agreed = read_integer(annotations_of(replica_set).get(DESIRED_REPLICAS, "")) == wanted
    return agreed and desired(replica_set) == wanted and available(replica_set) == wanted


def plan_scaling(deployment: V1Deployment, new: V1ReplicaSet | None, old: Sequence[V1ReplicaSet]) -> list[Size]:
    """Return the new sizes of the ReplicaSets after the Deployment was scaled. The largest ReplicaSet comes first."""
    wanted = desired(deployment)
    if (only := active_or_latest(new, old)) is not None:
        return [Size(only, wanted)] if desired(only) != wanted else []
    if is_saturated(deployment, new):
        # The others were adopted later. The new ReplicaSet has enough pods.
        return [Size(each, 0) for each in active(old)]
    if not is_rolling_update(deployment):
        return []
    return _in_proportion(deployment, active([*old, *([new] if new is not None else [])]))


def proportion(deployment: V1Deployment, replica_set: V1ReplicaSet, to_add: int, added: int) -> int:
    """
    Return how many pods a ReplicaSet gets or loses.

    :param to_add: the number of pods to add in total; negative to remove them
    :param added: the part of them that other ReplicaSets have already got
    """
    if desired(replica_set) == 0 or to_add in (0, added):
        return 0
    share, left = _share(deployment, replica_set), to_add - added
    return min(share, left) if to_add > 0 else max(share, left)


def _in_proportion(deployment: V1Deployment, replica_sets: list[V1ReplicaSet]) -> list[Size]:
    wanted = desired(deployment)
    allowed = wanted + max_surge(deployment) if wanted > 0 else 0
    to_add = allowed - total_replicas(replica_sets)
    # Among ReplicaSets of the same size, newer ones grow first and older ones shrink first.
    replica_sets.sort(key=age, reverse=to_add > 0)
    replica_sets.sort(key=desired, reverse=True)
    sizes: list[int] = []
    added = 0
    for each in replica_sets:
        share = proportion(deployment, each, to_add, added)
        sizes.append(desired(each) + share)
        added += share
    if sizes:
        # The largest one gets the rest that rounding has left.
        sizes[0] = max(sizes[0] + to_add - added, 0)
    return [Size(each, size, force=True) for each, size in zip(replica_sets, sizes, strict=True)]


def _share(deployment: V1Deployment, replica_set: V1ReplicaSet) -> int:
    """Return a ReplicaSet's proportional share, without regard to the others."""
    have = desired(replica_set)
    if desired(deployment) == 0:
        return -have
    before = count_in(replica_set, MAX_REPLICAS) or (deployment.status.replicas if deployment.status else 0) or 0
    if before == 0:
        # A user has removed the annotation, and no pods could be created.
        return 0
    size = have * (desired(deployment) + max_surge(deployment)) / before
    # Halves are rounded away from zero.
    return math.trunc(size + math.copysign(0.5, size)) - have


def plan_new(deployment: V1Deployment, new: V1ReplicaSet, old: Sequence[V1ReplicaSet]) -> int:
    """
    Return how many replicas the new ReplicaSet should have now.

    :raises StrategyError: if the strategy is invalid
    """
    wanted = desired(deployment)
    return wanted if desired(new) >= wanted else new_replicas(deployment, [*old, new], new)


def plan_old(deployment: V1Deployment, new: V1ReplicaSet, old: Sequence[V1ReplicaSet]) -> list[Size]:
    """
    Return the new sizes of old ReplicaSets, in this order. A ReplicaSet may be listed twice.

    Unavailable pods are removed first, because they serve nobody and may use resources that the new pods need. Then
    available pods beyond the required number are removed. Only available pods of the new ReplicaSet count for this: new
    pods that crash never replace old pods that work.

    An old ReplicaSet may report more available pods than it should have. Then its status is older than its last
    scaling, and some of these pods are being deleted. No more pods are removed until it has a new status.
    """
    with_pods = sorted(active(old), key=age)
    if not with_pods:
        return []
    at_least = desired(deployment) - max_unavailable(deployment)
    spare = total_replicas([*with_pods, new]) - at_least - (desired(new) - available(new))
    if spare <= 0:
        return []
    steps: list[Size] = []
    sizes = [desired(each) for each in with_pods]

    def shrink(by: int, most: Callable[[int, V1ReplicaSet], int]) -> bool:
        """
        Remove this many pods in total, and from each ReplicaSet at most what `most` returns.

        :return: False if `most` has returned a negative number, at which this stops
        """
        for index, each in enumerate(with_pods):
            if by <= 0:
                break
            taken = min(by, most(sizes[index], each))
            if taken < 0:
                return False
            if taken > 0:
                by -= taken
                sizes[index] -= taken
                steps.append(Size(each, sizes[index]))
        return True

    if shrink(spare, lambda size, each: size - available(each)):
        shrink(sum(map(available, with_pods)) + available(new) - at_least, lambda size, each: size)
    return steps
