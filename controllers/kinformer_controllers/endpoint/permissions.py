"""What the endpoints controller may do at the server."""

from __future__ import annotations

from typing import Final

from kinformer.permissions import RECORD_EVENTS, Rule, allow

__all__ = ("PERMISSIONS",)

PERMISSIONS: Final[tuple[Rule, ...]] = (
    allow("list watch", "services", "pods"),
    allow("list watch create update delete", "endpoints"),
    # OpenShift asks for this of whoever writes addresses of its cluster network; nothing else knows it.
    allow("create", "endpoints/restricted"),
    RECORD_EVENTS,
)
