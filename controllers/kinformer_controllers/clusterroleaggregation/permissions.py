"""The permissions of the aggregation of ClusterRoles at the API server."""

from __future__ import annotations

from typing import Final

from kinformer.permissions import Rule, allow

__all__ = ("PERMISSIONS",)

PERMISSIONS: Final[tuple[Rule, ...]] = (
    # `escalate`: it writes rules that it does not have itself.
    allow("list watch patch escalate", "clusterroles.rbac.authorization.k8s.io"),
)
