"""The permissions of the node route controller at the API server."""

from __future__ import annotations

from typing import Final

from kinformer.permissions import RECORD_EVENTS, Rule, allow

__all__ = ("PERMISSIONS",)

PERMISSIONS: Final[tuple[Rule, ...]] = (
    allow("list watch", "nodes"),
    allow("patch", "nodes/status"),
    RECORD_EVENTS,
)
