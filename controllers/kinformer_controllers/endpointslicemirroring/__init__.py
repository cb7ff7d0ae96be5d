"""The mirroring of Endpoints, as in kube-controller-manager: it makes EndpointSlices of Endpoints that users write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinformer.options import Deferred
from kinformer_controllers.endpointslicemirroring.options import MirroringOptions
from kinformer_controllers.endpointslicemirroring.permissions import PERMISSIONS

if TYPE_CHECKING:
    from kinformer.manager import Runnable

__all__ = ("make_controller",)

make_controller: Deferred[Runnable] = Deferred(
    "kinformer_controllers.endpointslicemirroring.controller:make_controller", MirroringOptions, permissions=PERMISSIONS
)
