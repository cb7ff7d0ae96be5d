"""The permissions of the namespace controller at the API server."""

from __future__ import annotations

from typing import Final

from kinformer.permissions import Rule, allow

__all__ = ("PERMISSIONS",)

PERMISSIONS: Final[tuple[Rule, ...]] = (
    allow("get list watch", "namespaces"),
    allow("update", "namespaces/status", "namespaces/finalize"),
    # Whatever there is in a namespace goes.
    allow("list delete deletecollection", "*.*"),
)
