"""The permissions of the CronJob controller at the API server."""

from __future__ import annotations

from typing import Final

from kinformer.permissions import RECORD_EVENTS, Rule, allow

__all__ = ("PERMISSIONS",)

PERMISSIONS: Final[tuple[Rule, ...]] = (
    allow("get list watch", "cronjobs.batch"),
    allow("update", "cronjobs.batch/status"),
    allow("get list watch create delete", "jobs.batch"),
    # Its Jobs have owner references with blockOwnerDeletion. Some servers require this permission for them.
    allow("update", "cronjobs.batch/finalizers"),
    RECORD_EVENTS,
)
