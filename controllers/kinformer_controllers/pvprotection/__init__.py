"""The protection of volumes, as in kube-controller-manager: a bound volume is not deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinformer.options import Deferred
from kinformer_controllers.pvprotection.permissions import PERMISSIONS

if TYPE_CHECKING:
    from kinformer.manager import Runnable

__all__ = ("make_controller",)

make_controller: Deferred[Runnable] = Deferred(
    "kinformer_controllers.pvprotection.controller:make_controller", permissions=PERMISSIONS
)
