"""The permissions of the endpoints controller at the API server."""

from __future__ import annotations

from typing import Final

from kinformer.permissions import RECORD_EVENTS, Rule, allow

__all__ = ("PERMISSIONS",)

PERMISSIONS: Final[tuple[Rule, ...]] = (
    allow("list watch", "services", "pods"),
    allow("list watch create update delete", "endpoints"),
    # OpenShift requires this permission for addresses in its cluster network. Other servers ignore it.
    allow("create", "endpoints/restricted"),
    RECORD_EVENTS,
)
