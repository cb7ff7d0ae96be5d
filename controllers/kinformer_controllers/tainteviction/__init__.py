"""The taint eviction controller: deletes pods that do not tolerate the NoExecute taints of their node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinformer.options import Deferred
from kinformer_controllers.tainteviction.permissions import PERMISSIONS

if TYPE_CHECKING:
    from kinformer.manager import Runnable

__all__ = ("make_controller",)

make_controller: Deferred[Runnable] = Deferred(
    "kinformer_controllers.tainteviction.controller:make_controller", permissions=PERMISSIONS
)
