"""The service load balancer controller, as Kubernetes' cloud-controller-manager has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinformer.options import Deferred
from kinformer_controllers.servicelb.options import ServiceLBOptions
from kinformer_controllers.servicelb.permissions import PERMISSIONS

if TYPE_CHECKING:
    from kinformer.manager import Runnable

__all__ = ("make_controller",)

make_controller: Deferred[Runnable] = Deferred(
    "kinformer_controllers.servicelb.controller:make_controller", ServiceLBOptions, permissions=PERMISSIONS
)
