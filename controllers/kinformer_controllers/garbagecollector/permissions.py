"""The permissions of the garbage collector at the API server."""

from __future__ import annotations

from typing import Final

from kinformer.permissions import RECORD_EVENTS, Rule, allow

__all__ = ("PERMISSIONS",)

PERMISSIONS: Final[tuple[Rule, ...]] = (
    # Objects of any kind can have owners of any kind. They are deleted, or lose a reference or a finalizer.
    allow("get list watch patch delete", "*.*"),
    RECORD_EVENTS,
)
