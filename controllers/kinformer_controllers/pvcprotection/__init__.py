"""The protection of claims, as in kube-controller-manager: a claim is not deleted while pods use it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinformer.options import Deferred
from kinformer_controllers.pvcprotection.permissions import PERMISSIONS

if TYPE_CHECKING:
    from kinformer.manager import Runnable

__all__ = ("make_controller",)

make_controller: Deferred[Runnable] = Deferred(
    "kinformer_controllers.pvcprotection.controller:make_controller", permissions=PERMISSIONS
)
