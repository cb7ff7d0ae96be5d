"""TriggerTimes: since when the change was in the world that is being written now.

Whoever measures how long endpoints take to follow reads it from an annotation. It is the earliest of the times at which
a pod's readiness, or the service, changed since the last sync, and is left out if none did: a pod that is deleted
leaves no time behind. A service that was not known before counts from its creation.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime

from kinformer.models import V1Service
from kinformer_controllers.shared.services.pod import EndpointPod

__all__ = ("TriggerTimes", "format_trigger_time")


class TriggerTimes:
    """Remembers for each service what its last sync has seen."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[datetime | None, dict[str, datetime]]] = {}

    def compute(self, key: str, service: V1Service, pods: Collection[EndpointPod]) -> datetime | None:
        """
        The trigger time of what this sync writes, None if it has none.

        From now on these times are the last that were seen.
        """
        created: datetime | None = service.metadata.creation_timestamp
        times = {pod.key: pod.ready_changed for pod in pods if pod.ready_changed is not None}
        known = self._seen.get(key)
        self._seen[key] = (created, times)
        if known is None:
            return created
        since, before = known
        # What is as it was goes without a look at each: of thousands of pods mostly one has changed.
        news = times.items() - before.items()
        earliest = min((time for key, time in news if (last := before.get(key)) is None or time > last), default=None)
        if created is not None and (since is None or created > since):
            return created if earliest is None else min(created, earliest)
        return earliest

    def forget(self, key: str) -> None:
        """The service is gone."""
        self._seen.pop(key, None)


def format_trigger_time(time: datetime) -> str:
    """As Go's RFC3339Nano: a fraction only where there is one, without zeros at its end."""
    text = time.astimezone(UTC).replace(tzinfo=None).isoformat()
    return f"{text.rstrip('0') if '.' in text else text}Z"
