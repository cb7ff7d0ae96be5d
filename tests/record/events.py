"""Events as tests make them, and a sink that keeps them."""

from __future__ import annotations

import copy
from typing import Any

from kinformer.clock import Clock
from kinformer.models import CoreV1Event, V1EventSource, V1ObjectMeta, V1ObjectReference

__all__ = ("MemorySink", "make_event")


def make_event(
    clock: Clock, message: str = "hello", *, name: str = "ev", about: str = "web", **more: Any
) -> CoreV1Event:
    values: dict[str, Any] = {"type": "Normal", "reason": "Seen"} | more
    return CoreV1Event(
        metadata=V1ObjectMeta(name=name, namespace="ns"),
        involved_object=V1ObjectReference(kind="ReplicationController", namespace="ns", name=about),
        source=V1EventSource(component="test"),
        message=message,
        count=1,
        first_timestamp=clock.now(),
        last_timestamp=clock.now(),
        **values,
    )


class MemorySink:
    """
    Keeps events by name, and raises what it is told to.

    :param errors: what the next writes raise, in order
    """

    def __init__(self, errors: list[Exception] | None = None) -> None:
        self.errors = errors or []
        self.stored: dict[str, CoreV1Event] = {}
        self.writes: list[str] = []

    async def create(self, event: CoreV1Event) -> CoreV1Event:
        self._write("create", event)
        return self._keep(event)

    async def patch(self, event: CoreV1Event, patch: dict[str, Any]) -> CoreV1Event:
        self._write("patch", event)
        stored = self.stored[event.metadata.name]
        stored.count = patch["count"]
        return stored

    def _write(self, verb: str, event: CoreV1Event) -> None:
        self.writes.append(f"{verb} {event.message}")
        if self.errors:
            raise self.errors.pop(0)

    def _keep(self, event: CoreV1Event) -> CoreV1Event:
        kept = copy.copy(event)
        kept.metadata = copy.copy(event.metadata)
        kept.metadata.resource_version = str(len(self.writes))
        self.stored[event.metadata.name] = kept
        return kept
