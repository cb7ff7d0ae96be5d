"""TriggerTimes: the time of the change that led to a write of endpoints.

The time is written into an annotation, from which others measure how long endpoints take to follow a change. It is the
earliest time at which a pod's readiness or the service changed since the last sync. The annotation is left out if there
is no such time, for example after the deletion of a pod. For a service without an earlier sync it is the service's
creation time.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime

from kinformer.models import V1Service
from kinformer_controllers.shared.services.pod import EndpointPod

__all__ = ("TriggerTimes", "format_trigger_time")


class TriggerTimes:
    """Remembers for each service the times that its last sync has seen."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[datetime | None, dict[str, datetime]]] = {}

    def compute(self, key: str, service: V1Service, pods: Collection[EndpointPod]) -> datetime | None:
        """
        Return the trigger time of this sync; None if there is none. The times of this sync are remembered.
        """
        created: datetime | None = service.metadata.creation_timestamp
        times = {pod.key: pod.ready_changed for pod in pods if pod.ready_changed is not None}
        known = self._seen.get(key)
        self._seen[key] = (created, times)
        if known is None:
            return created
        since, before = known
        # The difference of the two views is fast: mostly one of thousands of pods has changed.
        news = times.items() - before.items()
        earliest = min((time for key, time in news if (last := before.get(key)) is None or time > last), default=None)
        if created is not None and (since is None or created > since):
            return created if earliest is None else min(created, earliest)
        return earliest

    def forget(self, key: str) -> None:
        """Forget a service that was deleted."""
        self._seen.pop(key, None)


def format_trigger_time(time: datetime) -> str:
    """Format a time as Go's RFC3339Nano: without zeros at the end of the fraction, and without an empty fraction."""
    text = time.astimezone(UTC).replace(tzinfo=None).isoformat()
    return f"{text.rstrip('0') if '.' in text else text}Z"
