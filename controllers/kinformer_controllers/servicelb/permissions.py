"""What the service load balancer controller may do at the server."""

from __future__ import annotations

from typing import Final

from kinformer.permissions import RECORD_EVENTS, Rule, allow

__all__ = ("PERMISSIONS",)

PERMISSIONS: Final[tuple[Rule, ...]] = (
    allow("list watch", "services", "nodes"),
    allow("patch", "services/status"),
    RECORD_EVENTS,
)
