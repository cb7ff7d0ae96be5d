"""Sums over the ReplicaSets of a Deployment: their desired and their actual pods. No I/O."""

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
    """Return the replicas in the spec of a Deployment or a ReplicaSet; 1 if not set, as the server's default."""
    replicas: int | None = obj.spec.replicas
    return 1 if replicas is None else replicas


def active(replica_sets: Iterable[V1ReplicaSet]) -> list[V1ReplicaSet]:
    """Return the ReplicaSets that should have pods."""
    return [each for each in replica_sets if desired(each) > 0]


def age(replica_set: V1ReplicaSet) -> tuple[datetime, str]:
    """Return a sort key that puts the oldest first."""
    meta = replica_set.metadata
    return (meta.creation_timestamp or _LONG_AGO, meta.name)


def available(replica_set: V1ReplicaSet) -> int:
    """Return the number of its available pods."""
    return _has(replica_set, "available_replicas")


def total_replicas(replica_sets: Iterable[V1ReplicaSet]) -> int:
    """Return the sum of their desired pods."""
    return sum(map(desired, replica_sets))


def actual_replicas(replica_sets: Iterable[V1ReplicaSet]) -> int:
    """Return the sum of the pods that they have."""
    return sum(_has(each, "replicas") for each in replica_sets)


def ready_replicas(replica_sets: Iterable[V1ReplicaSet]) -> int:
    return sum(_has(each, "ready_replicas") for each in replica_sets)


def available_replicas(replica_sets: Iterable[V1ReplicaSet]) -> int:
    return sum(map(available, replica_sets))


def terminating_replicas(replica_sets: Iterable[V1ReplicaSet]) -> int | None:
    """
    Return the sum of the pods that are being deleted and have not ended.

    :return: None if a synced ReplicaSet has no such number, because its controller is older
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
