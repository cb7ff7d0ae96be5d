"""What the CronJob controller may do at the server."""

from __future__ import annotations

from typing import Final

from kinformer.permissions import RECORD_EVENTS, Rule, allow

__all__ = ("PERMISSIONS",)

PERMISSIONS: Final[tuple[Rule, ...]] = (
    allow("get list watch", "cronjobs.batch"),
    allow("update", "cronjobs.batch/status"),
    allow("get list watch create delete", "jobs.batch"),
    # Its Jobs' owner references block its deletion, which some servers allow to those alone who may finalize it.
    allow("update", "cronjobs.batch/finalizers"),
    RECORD_EVENTS,
)
