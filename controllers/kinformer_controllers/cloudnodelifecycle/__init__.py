"""The cloud node lifecycle controller, as Kubernetes' cloud-controller-manager has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinformer.options import Deferred
from kinformer_controllers.cloudnodelifecycle.options import CloudNodeLifecycleOptions
from kinformer_controllers.cloudnodelifecycle.permissions import PERMISSIONS

if TYPE_CHECKING:
    from kinformer.manager import Runnable

__all__ = ("make_controller",)

make_controller: Deferred[Runnable] = Deferred(
    "kinformer_controllers.cloudnodelifecycle.controller:make_controller",
    CloudNodeLifecycleOptions,
    permissions=PERMISSIONS,
)
