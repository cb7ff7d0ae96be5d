"""Sums over the ReplicaSets of a Deployment: what they were asked for, and what they have. No I/O."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Final

from kinformer.models import V1ReplicaSet

__all__ = (
    "active",
    "actual_replicas",
    "age",
    "available",
    "available_replicas",
    "desired",
    "ready_replicas",
    "terminating_replicas",
    "total_replicas",
)

_LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)


def desired(obj: Any) -> int:
    """What a Deployment or a ReplicaSet asks for; the server fills in 1 where it says nothing."""
    replicas: int | None = obj.spec.replicas
    return 1 if replicas is None else replicas


def active(replica_sets: Iterable[V1ReplicaSet]) -> list[V1ReplicaSet]:
    """Those that have, or ought to have, pods."""
    return [each for each in replica_sets if desired(each) > 0]


def age(replica_set: V1ReplicaSet) -> tuple[datetime, str]:
    """Sorts the oldest first."""
    meta = replica_set.metadata
    return (meta.creation_timestamp or _LONG_AGO, meta.name)


def available(replica_set: V1ReplicaSet) -> int:
    """How many available pods it has."""
    return _has(replica_set, "available_replicas")


def total_replicas(replica_sets: Iterable[V1ReplicaSet]) -> int:
    """The pods that they were asked for."""
    return sum(map(desired, replica_sets))


def actual_replicas(replica_sets: Iterable[V1ReplicaSet]) -> int:
    """The pods that they have."""
    return sum(_has(each, "replicas") for each in replica_sets)


def ready_replicas(replica_sets: Iterable[V1ReplicaSet]) -> int:
    return sum(_has(each, "ready_replicas") for each in replica_sets)


def available_replicas(replica_sets: Iterable[V1ReplicaSet]) -> int:
    return sum(map(available, replica_sets))


def terminating_replicas(replica_sets: Iterable[V1ReplicaSet]) -> int | None:
    """
    The pods that were asked to end and have not yet.

    :return: None if a ReplicaSet that was synced does not tell: its controller is an older one
    """
    total = 0
    for each in replica_sets:
        if each.status is None:
            continue
        if each.status.terminating_replicas is not None:
            total += each.status.terminating_replicas
        elif each.status.observed_generation:
            return None
    return total


def _has(replica_set: V1ReplicaSet, count: str) -> int:
    return (getattr(replica_set.status, count) or 0) if replica_set.status is not None else 0
