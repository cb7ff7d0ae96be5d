"""The signers of certificate requests, as in kube-controller-manager: four signers with one or more CAs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinformer.options import Deferred
from kinformer_controllers.csrsigning.options import SigningOptions
from kinformer_controllers.csrsigning.permissions import PERMISSIONS

if TYPE_CHECKING:
    from kinformer.manager import Runnable

__all__ = ("make_controller",)

make_controller: Deferred[Runnable] = Deferred(
    "kinformer_controllers.csrsigning.controller:make_controller", SigningOptions, permissions=PERMISSIONS
)
