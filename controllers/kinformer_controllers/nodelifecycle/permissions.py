"""The permissions of the node lifecycle controller at the API server."""

from __future__ import annotations

from typing import Final

from kinformer.permissions import RECORD_EVENTS, Rule, allow

__all__ = ("PERMISSIONS",)

PERMISSIONS: Final[tuple[Rule, ...]] = (
    allow("get list watch patch", "nodes"),
    allow("patch", "nodes/status"),
    allow("list watch", "leases.coordination.k8s.io"),
    allow("list watch", "pods"),
    allow("patch", "pods/status"),
    RECORD_EVENTS,
)
