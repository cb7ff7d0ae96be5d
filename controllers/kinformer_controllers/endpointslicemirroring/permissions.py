"""What the mirroring of Endpoints may do at the server."""

from __future__ import annotations

from typing import Final

from kinformer.permissions import RECORD_EVENTS, Rule, allow

__all__ = ("PERMISSIONS",)

PERMISSIONS: Final[tuple[Rule, ...]] = (
    allow("list watch", "services"),
    allow("get list watch", "endpoints"),
    allow("list watch create update delete", "endpointslices.discovery.k8s.io"),
    # Slices' owner references block the deletion of their Endpoints.
    allow("update", "endpoints/finalizers"),
    # OpenShift asks for this of whoever writes addresses of its cluster network; nothing else knows it.
    allow("create", "endpointslices.discovery.k8s.io/restricted"),
    RECORD_EVENTS,
)
