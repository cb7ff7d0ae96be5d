"""The expansion of volumes, as in kube-controller-manager: it expands a volume if its claim asks for more storage."""

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
