"""The namespace controller, as kube-controller-manager has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinformer.options import Deferred
from kinformer_controllers.namespace.options import NamespaceOptions
from kinformer_controllers.namespace.permissions import PERMISSIONS

if TYPE_CHECKING:
    from kinformer.manager import Runnable

__all__ = ("make_controller",)

make_controller: Deferred[Runnable] = Deferred(
    "kinformer_controllers.namespace.controller:make_controller",
    NamespaceOptions,
    permissions=PERMISSIONS,
)
