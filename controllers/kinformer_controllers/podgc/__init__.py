"""The pod garbage collector, as in kube-controller-manager: it deletes pods that no other component deletes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinformer.options import Deferred
from kinformer_controllers.podgc.options import PodGCOptions
from kinformer_controllers.podgc.permissions import PERMISSIONS

if TYPE_CHECKING:
    from kinformer.manager import Runnable

__all__ = ("make_controller",)

make_controller: Deferred[Runnable] = Deferred(
    "kinformer_controllers.podgc.controller:make_controller", PodGCOptions, permissions=PERMISSIONS
)
