"""The Job controller, as kube-controller-manager has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinformer.options import Deferred
from kinformer_controllers.job.options import JobOptions
from kinformer_controllers.job.permissions import PERMISSIONS

if TYPE_CHECKING:
    from kinformer.manager import Runnable

__all__ = ("make_controller",)

make_controller: Deferred[Runnable] = Deferred(
    "kinformer_controllers.job.controller:make_controller", JobOptions, permissions=PERMISSIONS
)
