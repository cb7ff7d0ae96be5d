"""The stale DisruptionTarget condition: a pod that has the condition and is never deleted.

A disruption sets the condition first, and then deletes the pod. If the deletion fails, the condition would stay. So
after two minutes it is set to False. Two cases are left alone: a condition that the kubelet has set, because such a pod
may take any time to end, and a pod that has ended.
"""

from __future__ import annotations

import copy
from datetime import datetime, timedelta
from typing import Final

from kinformer.cache import Indexer
from kinformer.client import Resource
from kinformer.clock import Clock
from kinformer.controllerutil.pods import DISRUPTION_TARGET, is_pod_terminal, pod_condition
from kinformer.models import V1Pod, V1PodCondition

__all__ = (
    "StalePods",
    "stale_in",
)

_BY_KUBELET: Final = "TerminationByKubelet"

#: How long the condition may stay true if the pod is not deleted.
_STALE_AFTER: Final = timedelta(minutes=2)


def stale_in(pod: V1Pod, now: datetime) -> timedelta | None:
    """Return the time until the pod's condition is stale, zero if it is; None if it has none that can become stale."""
    if pod.metadata.deletion_timestamp or is_pod_terminal(pod):
        return None
    condition = pod_condition(pod, DISRUPTION_TARGET)
    if condition is None or condition.status != "True" or condition.reason == _BY_KUBELET:
        return None
    since = condition.last_transition_time
    return max(since + _STALE_AFTER - now, timedelta()) if since is not None else timedelta()


def _without_disruption_target(pod: V1Pod, now: datetime) -> V1Pod:
    """Return a copy of the pod whose DisruptionTarget condition is False."""
    pod = copy.deepcopy(pod)
    assert pod.status is not None
    pod.status.conditions = [
        V1PodCondition(
            type=DISRUPTION_TARGET,
            status="False",
            observed_generation=pod.metadata.generation,
            last_transition_time=now,
        )
        if condition.type == DISRUPTION_TARGET
        else condition
        for condition in pod.status.conditions or ()
    ]
    return pod


class StalePods:
    """
    Syncs pods with a DisruptionTarget condition.

    :param pods: writes the condition to the server
    :param cached: the cache of pods
    """

    def __init__(self, pods: Resource[V1Pod], cached: Indexer[V1Pod], clock: Clock) -> None:
        self._pods = pods
        self._cached = cached
        self._clock = clock

    async def sync(self, key: str) -> float | None:
        """
        Set the condition of a pod to False if it is stale.

        :return: seconds until it becomes stale; None if it cannot become stale
        """
        pod = self._cached.get_by_key(key)
        wait = stale_in(pod, self._clock.now()) if pod is not None else None
        if pod is None or wait is None:
            return None
        if wait:
            return wait.total_seconds()
        await self._pods.update_status(_without_disruption_target(pod, self._clock.now()))
        return None
