"""Setting the DisruptionTarget condition to False on pods that were not deleted in time."""

from __future__ import annotations

from kinformer.cache import Indexer
from kinformer.client import Resource
from kinformer.clock import Clock
from kinformer.models import V1Pod
from kinformer_controllers.disruption.stale_condition import stale_in, without_disruption_target

__all__ = ("StalePods",)


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
        await self._pods.update_status(without_disruption_target(pod, self._clock.now()))
        return None
