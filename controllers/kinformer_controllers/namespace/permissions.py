"""The permissions of the namespace controller at the API server."""

from __future__ import annotations

from typing import Final

from kinformer.permissions import Rule, allow

__all__ = ("PERMISSIONS",)

PERMISSIONS: Final[tuple[Rule, ...]] = (
    allow("get list watch", "namespaces"),
    allow("update", "namespaces/status", "namespaces/finalize"),
    # Everything in a namespace is deleted.
    allow("list delete deletecollection", "*.*"),
)
