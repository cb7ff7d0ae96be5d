"""The cleaner of certificate requests, as in kube-controller-manager: it deletes old CertificateSigningRequests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinformer.options import Deferred
from kinformer_controllers.csrcleaner.permissions import PERMISSIONS

if TYPE_CHECKING:
    from kinformer.manager import Runnable

__all__ = ("make_controller",)

make_controller: Deferred[Runnable] = Deferred(
    "kinformer_controllers.csrcleaner.controller:make_controller", permissions=PERMISSIONS
)
