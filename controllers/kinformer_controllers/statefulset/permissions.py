"""The permissions of the StatefulSet controller at the API server."""

from __future__ import annotations

from typing import Final

from kinformer.permissions import RECORD_EVENTS, Rule, allow

__all__ = ("PERMISSIONS",)

PERMISSIONS: Final[tuple[Rule, ...]] = (
    allow("get list watch", "statefulsets.apps"),
    allow("update", "statefulsets.apps/status"),
    allow("get list watch create update patch delete", "pods"),
    allow("get list watch create update patch delete", "controllerrevisions.apps"),
    allow("list watch create update", "persistentvolumeclaims"),
    # Pods and claims have owner references with blockOwnerDeletion. Some servers require these permissions for them.
    allow("update", "statefulsets.apps/finalizers", "pods/finalizers"),
    RECORD_EVENTS,
)
