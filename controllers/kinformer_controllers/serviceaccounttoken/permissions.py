"""The permissions of the service account token controller at the API server."""

from __future__ import annotations

from typing import Final

from kinformer.permissions import Rule, allow

__all__ = ("PERMISSIONS",)

PERMISSIONS: Final[tuple[Rule, ...]] = (
    allow("get list watch update", "serviceaccounts"),
    allow("get list watch update delete", "secrets"),
)
