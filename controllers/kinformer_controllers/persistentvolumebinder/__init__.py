"""The persistent volume binder, as in kube-controller-manager: it binds claims to volumes, and reclaims volumes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinformer.options import Deferred
from kinformer_controllers.persistentvolumebinder.options import BinderOptions
from kinformer_controllers.persistentvolumebinder.permissions import PERMISSIONS

if TYPE_CHECKING:
    from kinformer.manager import Runnable

__all__ = ("make_controller",)

make_controller: Deferred[Runnable] = Deferred(
    "kinformer_controllers.persistentvolumebinder.controller:make_controller", BinderOptions, permissions=PERMISSIONS
)
