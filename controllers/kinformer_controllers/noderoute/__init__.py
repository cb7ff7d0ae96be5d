"""The node route controller, as in Kubernetes' cloud-controller-manager: it creates routes to the pods of each node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinformer.options import Deferred
from kinformer_controllers.noderoute.options import NodeRouteOptions
from kinformer_controllers.noderoute.permissions import PERMISSIONS

if TYPE_CHECKING:
    from kinformer.manager import Runnable

__all__ = ("make_controller",)

make_controller: Deferred[Runnable] = Deferred(
    "kinformer_controllers.noderoute.controller:make_controller", NodeRouteOptions, permissions=PERMISSIONS
)
