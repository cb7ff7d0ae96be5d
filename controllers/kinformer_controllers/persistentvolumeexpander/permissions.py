"""The permissions of the expansion of volumes at the API server."""

from __future__ import annotations

from typing import Final

from kinformer.permissions import RECORD_EVENTS, Rule, allow

__all__ = ("PERMISSIONS",)

PERMISSIONS: Final[tuple[Rule, ...]] = (
    allow("list watch update", "persistentvolumeclaims"),
    allow("update", "persistentvolumeclaims/status"),
    allow("get update", "persistentvolumes"),
    RECORD_EVENTS,
)
