"""The endpoint slice controller, as in kube-controller-manager: it keeps the EndpointSlices of services."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinformer.options import Deferred
from kinformer_controllers.endpointslice.options import EndpointSliceOptions
from kinformer_controllers.endpointslice.permissions import PERMISSIONS

if TYPE_CHECKING:
    from kinformer.manager import Runnable

__all__ = ("make_controller",)

make_controller: Deferred[Runnable] = Deferred(
    "kinformer_controllers.endpointslice.controller:make_controller", EndpointSliceOptions, permissions=PERMISSIONS
)
