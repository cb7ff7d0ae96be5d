"""What the DaemonSet controller may do at the server."""

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
    # Its pods' owner references block its deletion, which some servers allow to those alone who may finalize it.
    allow("update", "daemonsets.apps/finalizers"),
    RECORD_EVENTS,
)
