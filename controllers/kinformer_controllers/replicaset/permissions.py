"""The permissions of the ReplicaSet controller at the API server."""

from __future__ import annotations

from typing import Final

from kinformer.permissions import RECORD_EVENTS, Rule, allow

__all__ = ("PERMISSIONS",)

PERMISSIONS: Final[tuple[Rule, ...]] = (
    allow("get list watch", "replicasets.apps"),
    allow("update", "replicasets.apps/status"),
    allow("list watch create delete patch", "pods"),
    # Its pods' owner references block its deletion, which some servers allow to those alone who may finalize it.
    allow("update", "replicasets.apps/finalizers"),
    RECORD_EVENTS,
)
