"""The permissions of the pod garbage collector at the API server."""

from __future__ import annotations

from typing import Final

from kinformer.permissions import Rule, allow

__all__ = ("PERMISSIONS",)

PERMISSIONS: Final[tuple[Rule, ...]] = (
    allow("list watch delete", "pods"),
    allow("patch", "pods/status"),
    allow("get list watch", "nodes"),
)
