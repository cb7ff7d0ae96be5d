"""The service account controller, as in kube-controller-manager: the account ``default`` in every namespace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinformer.options import Deferred
from kinformer_controllers.serviceaccount.permissions import PERMISSIONS

if TYPE_CHECKING:
    from kinformer.manager import Runnable

__all__ = ("make_controller",)

make_controller: Deferred[Runnable] = Deferred(
    "kinformer_controllers.serviceaccount.controller:make_controller", permissions=PERMISSIONS
)
