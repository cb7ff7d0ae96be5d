"""The disruption controller: writes into each PodDisruptionBudget's status how many pods may be evicted now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinformer.options import Deferred
from kinformer_controllers.disruption.permissions import PERMISSIONS

if TYPE_CHECKING:
    from kinformer.manager import Runnable

__all__ = ("make_controller",)

make_controller: Deferred[Runnable] = Deferred(
    "kinformer_controllers.disruption.controller:make_controller", permissions=PERMISSIONS
)
