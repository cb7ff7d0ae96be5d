"""Deciding about StorageVersionMigrations: which one of a resource runs, and what their conditions say.

In: the migrations of one resource. Out: those that have ended and still count as running, and the one that is next.
Only one migration of a resource runs at a time, the oldest first.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from kinformer.controllerutil.conditions import get_condition, is_condition_true, set_condition
from kinformer.meta import GroupResource
from kinformer.models import V1beta1StorageVersionMigration, V1beta1StorageVersionMigrationStatus, V1Condition

__all__ = (
    "FAILED",
    "RUNNING",
    "SUCCEEDED",
    "Migration",
    "Turn",
    "conditions_of",
    "has_ended",
    "is_young",
    "resource_of",
    "turn_of",
    "version_of",
    "with_outcome",
    "with_status",
)

RUNNING: Final = "Running"
SUCCEEDED: Final = "Succeeded"
FAILED: Final = "Failed"
#: For so long a migration waits for its resource: it may have been defined at the same time.
_YOUNG: Final = timedelta(minutes=1)

Migration = V1beta1StorageVersionMigration


class Turn(NamedTuple):
    """
    What has to be done for one resource.

    :param ended: the migrations whose condition Running has to become false
    :param next: the migration that has to become the running one; None if another one runs, or none is left
    """

    ended: list[Migration]
    next: Migration | None


def turn_of(migrations: Iterable[Migration]) -> Turn:
    """Decide which migration of a resource runs."""
    ended: list[Migration] = []
    waiting: list[Migration] = []
    is_busy = False
    for one in migrations:
        runs, is_over = is_condition_true(conditions_of(one), RUNNING), has_ended(one)
        if runs and is_over:
            ended.append(one)
        elif runs:
            is_busy = True
        elif not is_over:
            waiting.append(one)
    first = min(waiting, key=lambda one: (one.metadata.creation_timestamp, one.metadata.name), default=None)
    return Turn(ended, None if is_busy else first)


def resource_of(migration: Migration) -> GroupResource:
    """The resource whose objects are written anew."""
    resource = migration.spec.resource
    return GroupResource(resource.group or "", resource.resource)


def conditions_of(migration: Migration) -> Sequence[V1Condition]:
    """The conditions, none if there is no status."""
    return (migration.status.conditions if migration.status is not None else None) or ()


def version_of(migration: Migration) -> str:
    """The resource version up to which objects are written anew; empty if it is not known yet."""
    return (migration.status.resource_version if migration.status is not None else None) or ""


def has_ended(migration: Migration) -> bool:
    """Whether it has succeeded or failed."""
    return any(is_condition_true(conditions_of(migration), type_) for type_ in (SUCCEEDED, FAILED))


def is_young(migration: Migration, now: datetime) -> bool:
    """Whether the resource of a migration may still become known to the server."""
    made = migration.metadata.creation_timestamp
    return made is not None and made + _YOUNG > now


def with_outcome(migration: Migration, type_: str, reason: str, message: str, now: datetime) -> Migration:
    """The migration with this condition, which is true. A condition that it has already stays as it is."""
    conditions = conditions_of(migration)
    if get_condition(conditions, type_) is not None:
        return migration
    return with_status(migration, set_condition(conditions, type_, True, reason=reason, message=message, now=now))


def with_status(
    migration: Migration, conditions: Sequence[V1Condition] | None = None, version: str | None = None
) -> Migration:
    """The migration with another status. It is a copy; what is not given stays."""
    written = copy.copy(migration)
    written.status = V1beta1StorageVersionMigrationStatus(
        conditions=list(conditions_of(migration) if conditions is None else conditions) or None,
        resource_version=(version_of(migration) if version is None else version) or None,
    )
    return written
