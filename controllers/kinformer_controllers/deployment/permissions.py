"""The permissions of the Deployment controller at the API server."""

from __future__ import annotations

from typing import Final

from kinformer.permissions import RECORD_EVENTS, Rule, allow

__all__ = ("PERMISSIONS",)

PERMISSIONS: Final[tuple[Rule, ...]] = (
    allow("get list watch update", "deployments.apps"),
    allow("update", "deployments.apps/status"),
    allow("get list watch create update patch delete", "replicasets.apps"),
    allow("list watch", "pods"),
    # Its ReplicaSets have owner references with blockOwnerDeletion. Some servers require this permission for them.
    allow("update", "deployments.apps/finalizers"),
    RECORD_EVENTS,
)
