"""event_correlator: what becomes of each of a sequence of events about ReplicationControllers."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from kinformer.clock import FakeClock
from kinformer.models import CoreV1Event, V1EventSource, V1ObjectMeta, V1ObjectReference
from kinformer.record.correlator import EventCorrelator

__all__ = ("answer",)


def answer(case: Any) -> Any:
    clock = FakeClock(datetime.fromisoformat(case["start"]))
    correlator = EventCorrelator(clock=clock)
    answers: list[dict[str, Any]] = []
    for op in case["ops"] or ():
        clock.turn(op["advance_seconds"])
        event, patch, skip = correlator.correlate(_event(op, case["source"], clock.now()))
        if skip:
            answers.append({"skip": True})
            continue
        written = {"skip": False, "count": event.count, "message": event.message, "name": event.metadata.name}
        answers.append(written | ({"patch": True, "patchBody": patch} if patch is not None else {"patch": False}))
    return answers


def same(got: Any, want: Any) -> bool:
    """Of what was skipped there is nothing more to say."""
    return bool(got == [{"skip": True} if step["skip"] else step for step in want or ()])


def _event(op: Any, source: str, now: datetime) -> CoreV1Event:
    return CoreV1Event(
        metadata=V1ObjectMeta(name=op["name"], namespace="ns"),
        involved_object=V1ObjectReference(kind="ReplicationController", namespace="ns", name=op["object"]),
        type=op["type"],
        reason=op["reason"],
        message=op["message"],
        source=V1EventSource(component=source),
        count=1,
        first_timestamp=now,
        last_timestamp=now,
    )
