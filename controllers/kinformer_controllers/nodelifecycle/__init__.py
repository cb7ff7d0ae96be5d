"""The node lifecycle controller: checks which nodes are alive, and taints those that are not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinformer.options import Deferred
from kinformer_controllers.nodelifecycle.options import NodeLifecycleOptions
from kinformer_controllers.nodelifecycle.permissions import PERMISSIONS

if TYPE_CHECKING:
    from kinformer.manager import Runnable

__all__ = ("make_controller",)

make_controller: Deferred[Runnable] = Deferred(
    "kinformer_controllers.nodelifecycle.controller:make_controller", NodeLifecycleOptions, permissions=PERMISSIONS
)
