"""The StatefulSet controller: pods with their own identity and storage, which are started and stopped in order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinformer.options import Deferred
from kinformer_controllers.statefulset.options import StatefulSetOptions
from kinformer_controllers.statefulset.permissions import PERMISSIONS

if TYPE_CHECKING:
    from kinformer.manager import Runnable

__all__ = ("make_controller",)

make_controller: Deferred[Runnable] = Deferred(
    "kinformer_controllers.statefulset.controller:make_controller", StatefulSetOptions, permissions=PERMISSIONS
)
