"""The permissions of the ReplicationController controller at the API server."""

from __future__ import annotations

from typing import Final

from kinformer.permissions import RECORD_EVENTS, Rule, allow

__all__ = ("PERMISSIONS",)

PERMISSIONS: Final[tuple[Rule, ...]] = (
    allow("get list watch", "replicationcontrollers"),
    allow("update", "replicationcontrollers/status"),
    allow("list watch create delete patch", "pods"),
    # Its pods have owner references with blockOwnerDeletion. Some servers require this permission for them.
    allow("update", "replicationcontrollers/finalizers"),
    RECORD_EVENTS,
)
