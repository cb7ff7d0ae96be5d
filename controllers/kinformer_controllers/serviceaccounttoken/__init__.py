"""The service account token controller, as in kube-controller-manager: it fills Secrets with tokens of accounts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinformer.options import Deferred
from kinformer_controllers.serviceaccounttoken.options import TokenOptions
from kinformer_controllers.serviceaccounttoken.permissions import PERMISSIONS

if TYPE_CHECKING:
    from kinformer.manager import Runnable

__all__ = ("make_controller",)

make_controller: Deferred[Runnable] = Deferred(
    "kinformer_controllers.serviceaccounttoken.controller:make_controller", TokenOptions, permissions=PERMISSIONS
)
