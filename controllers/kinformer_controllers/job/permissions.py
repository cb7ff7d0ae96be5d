"""The permissions of the Job controller at the API server."""

from __future__ import annotations

from typing import Final

from kinformer.permissions import RECORD_EVENTS, Rule, allow

__all__ = ("PERMISSIONS",)

PERMISSIONS: Final[tuple[Rule, ...]] = (
    allow("get list watch", "jobs.batch"),
    allow("update", "jobs.batch/status"),
    allow("list watch create delete patch", "pods"),
    # Its pods have owner references with blockOwnerDeletion. Some servers require this permission for them.
    allow("update", "jobs.batch/finalizers"),
    RECORD_EVENTS,
)
