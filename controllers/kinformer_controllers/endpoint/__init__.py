"""The endpoints controller, as in kube-controller-manager: it keeps the Endpoints of services."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinformer.options import Deferred
from kinformer_controllers.endpoint.options import EndpointOptions
from kinformer_controllers.endpoint.permissions import PERMISSIONS

if TYPE_CHECKING:
    from kinformer.manager import Runnable

__all__ = ("make_controller",)

make_controller: Deferred[Runnable] = Deferred(
    "kinformer_controllers.endpoint.controller:make_controller", EndpointOptions, permissions=PERMISSIONS
)
