"""The cleaner of CertificateSigningRequests: checks all of them once an hour, and deletes the old ones."""

from __future__ import annotations

from typing import Final

from kinformer.manager import Controller, ControllerContext
from kinformer.models import V1CertificateSigningRequest
from kinformer_controllers.csrcleaner.age import why_it_goes
from kinformer_controllers.shared.certificates.cleaning import Cleaner

__all__ = ("PERIOD", "make_controller")

#: Seconds between two checks, as in Kubernetes.
PERIOD: Final = 3600.0


def make_controller(context: ControllerContext) -> Controller:
    """The entry point of the cleaner. It has no options."""
    return Cleaner(context, "csrcleaner", V1CertificateSigningRequest, why_it_goes, PERIOD).controller
