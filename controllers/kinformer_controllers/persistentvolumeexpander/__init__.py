"""The expansion of volumes, as kube-controller-manager has it: enlarges a volume whose claim asks for more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinformer.options import Deferred
from kinformer_controllers.persistentvolumeexpander.options import ExpanderOptions
from kinformer_controllers.persistentvolumeexpander.permissions import PERMISSIONS

if TYPE_CHECKING:
    from kinformer.manager import Runnable

__all__ = ("make_controller",)

make_controller: Deferred[Runnable] = Deferred(
    "kinformer_controllers.persistentvolumeexpander.controller:make_controller",
    ExpanderOptions,
    permissions=PERMISSIONS,
)
