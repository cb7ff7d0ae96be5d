"""The CronJob controller, as kube-controller-manager has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinformer.options import Deferred
from kinformer_controllers.cronjob.options import CronJobOptions
from kinformer_controllers.cronjob.permissions import PERMISSIONS

if TYPE_CHECKING:
    from kinformer.manager import Runnable

__all__ = ("make_controller",)

make_controller: Deferred[Runnable] = Deferred(
    "kinformer_controllers.cronjob.controller:make_controller", CronJobOptions, permissions=PERMISSIONS
)
