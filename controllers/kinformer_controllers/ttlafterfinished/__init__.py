"""The ttl-after-finished controller, as kube-controller-manager has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinformer.options import Deferred
from kinformer_controllers.ttlafterfinished.options import TtlAfterFinishedOptions
from kinformer_controllers.ttlafterfinished.permissions import PERMISSIONS

if TYPE_CHECKING:
    from kinformer.manager import Runnable

__all__ = ("make_controller",)

make_controller: Deferred[Runnable] = Deferred(
    "kinformer_controllers.ttlafterfinished.controller:make_controller",
    TtlAfterFinishedOptions,
    permissions=PERMISSIONS,
)
