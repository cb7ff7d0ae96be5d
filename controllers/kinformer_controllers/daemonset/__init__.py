"""The DaemonSet controller: one pod on every node that it selects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinformer.options import Deferred
from kinformer_controllers.daemonset.options import DaemonSetOptions
from kinformer_controllers.daemonset.permissions import PERMISSIONS

if TYPE_CHECKING:
    from kinformer.manager import Runnable

__all__ = ("make_controller",)

make_controller: Deferred[Runnable] = Deferred(
    "kinformer_controllers.daemonset.controller:make_controller", DaemonSetOptions, permissions=PERMISSIONS
)
