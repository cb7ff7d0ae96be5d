"""The permissions of the DaemonSet controller at the API server."""

from __future__ import annotations

from typing import Final

from kinformer.permissions import RECORD_EVENTS, Rule, allow

__all__ = ("PERMISSIONS",)

PERMISSIONS: Final[tuple[Rule, ...]] = (
    allow("get list watch", "daemonsets.apps"),
    allow("update", "daemonsets.apps/status"),
    allow("list watch create delete patch", "pods"),
    allow("get list watch create update patch delete", "controllerrevisions.apps"),
    allow("list watch", "nodes"),
    # Its pods have owner references with blockOwnerDeletion. Some servers require this permission for them.
    allow("update", "daemonsets.apps/finalizers"),
    RECORD_EVENTS,
)
