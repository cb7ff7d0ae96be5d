"""The ResourceQuota controller, as kube-controller-manager has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinformer.options import Deferred
from kinformer_controllers.resourcequota.options import ResourceQuotaOptions
from kinformer_controllers.resourcequota.permissions import PERMISSIONS

if TYPE_CHECKING:
    from kinformer.manager import Runnable

__all__ = ("make_controller",)

make_controller: Deferred[Runnable] = Deferred(
    "kinformer_controllers.resourcequota.controller:make_controller", ResourceQuotaOptions, permissions=PERMISSIONS
)
