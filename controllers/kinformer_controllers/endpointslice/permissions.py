"""The permissions of the endpoint slice controller at the API server."""

from __future__ import annotations

from typing import Final

from kinformer.permissions import RECORD_EVENTS, Rule, allow

__all__ = ("PERMISSIONS",)

PERMISSIONS: Final[tuple[Rule, ...]] = (
    allow("list watch", "services", "pods", "nodes"),
    allow("list watch create update delete", "endpointslices.discovery.k8s.io"),
    # Slices have owner references with blockOwnerDeletion. Some servers require this permission for them.
    allow("update", "services/finalizers"),
    # OpenShift requires this permission for addresses in its cluster network. Other servers ignore it.
    allow("create", "endpointslices.discovery.k8s.io/restricted"),
    RECORD_EVENTS,
)
