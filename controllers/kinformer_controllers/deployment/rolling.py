"""A rolling update, step by step: the new ReplicaSet grows as far as surge allows, then old ones shrink. No I/O.

The next step is taken when the pods of the last one have come, or gone: when the ReplicaSets' status says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kinformer.models import V1Deployment, V1ReplicaSet
from kinformer_controllers.deployment.counts import active, age, available, desired, total_replicas
from kinformer_controllers.deployment.limits import max_unavailable, new_replicas
from kinformer_controllers.deployment.scaling import Size

__all__ = ("plan_new", "plan_old")


def plan_new(deployment: V1Deployment, new: V1ReplicaSet, old: Sequence[V1ReplicaSet]) -> int:
    """
    How many replicas the new ReplicaSet is to have now.

    :raises StrategyError: if the strategy cannot be understood
    """
    wanted = desired(deployment)
    return wanted if desired(new) >= wanted else new_replicas(deployment, [*old, new], new)


def plan_old(deployment: V1Deployment, new: V1ReplicaSet, old: Sequence[V1ReplicaSet]) -> list[Size]:
    """
    The sizes that old ReplicaSets are to have now, one after the other; one may be named twice.

    Unavailable pods go first: nobody misses them, and they might keep the new ones from coming up. Then as many others
    as are not needed for the least that has to be available. Of the new ReplicaSet's pods those count that are
    available: pods that crash do not cost any that work.
    """
    with_pods = sorted(active(old), key=age)
    at_least = desired(deployment) - max_unavailable(deployment)
    spare = total_replicas([*with_pods, new]) - at_least - (desired(new) - available(new))
    if spare <= 0 or not with_pods:
        return []
    steps: list[Size] = []
    sizes = [desired(each) for each in with_pods]

    def shrink(by: int, most: Callable[[int, V1ReplicaSet], int]) -> None:
        """Take so many away in all, of each ReplicaSet what may go of it at most."""
        for index, each in enumerate(with_pods):
            if by <= 0:
                return
            taken = min(by, most(sizes[index], each))
            if taken > 0:
                by -= taken
                sizes[index] -= taken
                steps.append(Size(each, sizes[index]))

    shrink(spare, lambda size, each: size - available(each))
    shrink(sum(map(available, with_pods)) + available(new) - at_least, lambda size, each: size)
    return steps
