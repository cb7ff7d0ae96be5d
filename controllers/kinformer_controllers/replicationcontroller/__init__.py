"""The ReplicationController controller, as kube-controller-manager has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinformer.options import Deferred
from kinformer_controllers.replicationcontroller.options import ReplicationControllerOptions
from kinformer_controllers.replicationcontroller.permissions import PERMISSIONS

if TYPE_CHECKING:
    from kinformer.manager import Runnable

__all__ = ("make_controller",)

make_controller: Deferred[Runnable] = Deferred(
    "kinformer_controllers.replicationcontroller.controller:make_controller",
    ReplicationControllerOptions,
    permissions=PERMISSIONS,
)
