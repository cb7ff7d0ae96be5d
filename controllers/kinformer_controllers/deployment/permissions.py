"""What the Deployment controller may do at the server."""

from __future__ import annotations

from typing import Final

from kinformer.permissions import RECORD_EVENTS, Rule, allow

__all__ = ("PERMISSIONS",)

PERMISSIONS: Final[tuple[Rule, ...]] = (
    allow("get list watch update", "deployments.apps"),
    allow("update", "deployments.apps/status"),
    allow("get list watch create update patch delete", "replicasets.apps"),
    allow("list watch", "pods"),
    # Its ReplicaSets' owner references block its deletion, which some servers allow to those alone who may finalize it.
    allow("update", "deployments.apps/finalizers"),
    RECORD_EVENTS,
)
