"""The garbage collector, as kube-controller-manager has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinformer.options import Deferred
from kinformer_controllers.garbagecollector.options import GarbageCollectorOptions
from kinformer_controllers.garbagecollector.permissions import PERMISSIONS

if TYPE_CHECKING:
    from kinformer.manager import Runnable

__all__ = ("make_controller",)

make_controller: Deferred[Runnable] = Deferred(
    "kinformer_controllers.garbagecollector.controller:make_controller",
    GarbageCollectorOptions,
    permissions=PERMISSIONS,
)
