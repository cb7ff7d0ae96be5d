"""The permissions of the taint eviction controller at the API server."""

from __future__ import annotations

from typing import Final

from kinformer.permissions import RECORD_EVENTS, Rule, allow

__all__ = ("PERMISSIONS",)

PERMISSIONS: Final[tuple[Rule, ...]] = (
    allow("get list watch delete", "pods"),
    allow("patch", "pods/status"),
    allow("list watch", "nodes"),
    RECORD_EVENTS,
)
