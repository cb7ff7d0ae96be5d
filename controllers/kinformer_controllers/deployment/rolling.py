"""Planning the steps of a rolling update: the new ReplicaSet grows within the surge, then old ones shrink. No I/O.

The next step follows when the ReplicaSets' statuses show that the pods of the last step were created or deleted.
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
    """
    with_pods = sorted(active(old), key=age)
    at_least = desired(deployment) - max_unavailable(deployment)
    spare = total_replicas([*with_pods, new]) - at_least - (desired(new) - available(new))
    if spare <= 0 or not with_pods:
        return []
    steps: list[Size] = []
    sizes = [desired(each) for each in with_pods]

    def shrink(by: int, most: Callable[[int, V1ReplicaSet], int]) -> None:
        """Remove this many pods in total, and from each ReplicaSet at most what `most` returns."""
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
