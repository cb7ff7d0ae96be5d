"""The record of an election: the leader, since when, and for how long. It is stored in the spec of a Lease.

Its times are for people to read. They are not used for decisions, because the clocks of machines differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

__all__ = ("ElectionRecord", "record_from_spec", "spec_from_record")


@dataclass(frozen=True, slots=True)
class ElectionRecord:
    """
    client-go's LeaderElectionRecord. Two equal records are the same state of the Lease.

    :param holder_identity: the leader, ``""`` if there is none
    :param leader_transitions: the number of changes of the leader
    :param strategy: how a coordinated election chooses
    :param preferred_holder: the next holder in a coordinated election
    """

    holder_identity: str = ""
    lease_duration_seconds: int = 0
    acquire_time: datetime | None = None
    renew_time: datetime | None = None
    leader_transitions: int = 0
    strategy: str = ""
    preferred_holder: str = ""


def record_from_spec(spec: Mapping[str, Any]) -> ElectionRecord:
    """Read the record from a Lease's spec. Missing fields, and fields of the wrong type, are empty."""
    return ElectionRecord(
        holder_identity=_text(spec.get("holderIdentity")),
        lease_duration_seconds=_number(spec.get("leaseDurationSeconds")),
        acquire_time=_time(spec.get("acquireTime")),
        renew_time=_time(spec.get("renewTime")),
        leader_transitions=_number(spec.get("leaseTransitions")),
        strategy=_text(spec.get("strategy")),
        preferred_holder=_text(spec.get("preferredHolder")),
    )


def spec_from_record(record: ElectionRecord) -> dict[str, Any]:
    """The spec of a Lease for this record, with the names of JSON."""
    spec: dict[str, Any] = {
        "holderIdentity": record.holder_identity,
        "leaseDurationSeconds": record.lease_duration_seconds,
        "acquireTime": _micro_time(record.acquire_time),
        "renewTime": _micro_time(record.renew_time),
        "leaseTransitions": record.leader_transitions,
    }
    if record.preferred_holder:
        spec["preferredHolder"] = record.preferred_holder
    if record.strategy:
        spec["strategy"] = record.strategy
    return spec


def _micro_time(time: datetime | None) -> str | None:
    # A MicroTime must have six digits after the second, even zeros: the API server accepts no other form.
    return None if time is None else f"{time.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%f}Z"


def _time(value: Any) -> datetime | None:
    with suppress(TypeError, ValueError):
        time = datetime.fromisoformat(value)
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time
    return None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _number(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
