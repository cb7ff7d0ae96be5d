"""The aggregation of ClusterRoles, as in kube-controller-manager: it fills a role with the rules of other roles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinformer.options import Deferred
from kinformer_controllers.clusterroleaggregation.permissions import PERMISSIONS

if TYPE_CHECKING:
    from kinformer.manager import Runnable

__all__ = ("make_controller",)

make_controller: Deferred[Runnable] = Deferred(
    "kinformer_controllers.clusterroleaggregation.controller:make_controller", permissions=PERMISSIONS
)
