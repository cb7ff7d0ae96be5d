"""The permissions of the service load balancer controller at the API server."""

from __future__ import annotations

from typing import Final

from kinformer.permissions import RECORD_EVENTS, Rule, allow

__all__ = ("PERMISSIONS",)

PERMISSIONS: Final[tuple[Rule, ...]] = (
    allow("list watch", "services", "nodes"),
    allow("patch", "services/status"),
    RECORD_EVENTS,
)
