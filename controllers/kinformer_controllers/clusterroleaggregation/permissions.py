"""What the aggregation of ClusterRoles may do at the server."""

from __future__ import annotations

from typing import Final

from kinformer.permissions import Rule, allow

__all__ = ("PERMISSIONS",)

PERMISSIONS: Final[tuple[Rule, ...]] = (
    # `escalate`: the rules that it writes are more than it has itself.
    allow("list watch patch escalate", "clusterroles.rbac.authorization.k8s.io"),
)
