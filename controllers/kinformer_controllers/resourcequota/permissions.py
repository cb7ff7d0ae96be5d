"""The permissions of the ResourceQuota controller at the API server."""

from __future__ import annotations

from typing import Final

from kinformer.permissions import Rule, allow

__all__ = ("PERMISSIONS",)

PERMISSIONS: Final[tuple[Rule, ...]] = (
    # A quota may count objects of any kind.
    allow("list watch", "*.*"),
    allow("update", "resourcequotas/status"),
)
