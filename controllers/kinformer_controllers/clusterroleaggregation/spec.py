"""The aggregation of ClusterRoles, as in kube-controller-manager: it fills a role with the rules of other roles."""

from __future__ import annotations

from typing import Final

from kinformer.permissions import allow
from kinformer.spec import ControllerSpec

__all__ = ("SPEC",)


SPEC: Final = ControllerSpec(
    name="clusterrole-aggregation-controller",
    aliases=("clusterrole-aggregation",),
    summary="fills in the rules of ClusterRoles that collect those of others",
    factory="kinformer_controllers.clusterroleaggregation.controller:AggregationController",
    permissions=(
        # `escalate`: it writes rules that it does not have itself.
        allow("list watch patch escalate", "clusterroles.rbac.authorization.k8s.io"),
    ),
    sharded_by="name",
    page="small.md",
)
