"""The permissions of the garbage collector at the API server."""

from __future__ import annotations

from typing import Final

from kinformer.permissions import RECORD_EVENTS, Rule, allow

__all__ = ("PERMISSIONS",)

PERMISSIONS: Final[tuple[Rule, ...]] = (
    # Anything may own anything, and is deleted with it, or loses a reference or a finalizer.
    allow("get list watch patch delete", "*.*"),
    RECORD_EVENTS,
)
