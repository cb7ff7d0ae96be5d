"""The cleaner of PodCertificateRequests: checks all of them every five minutes, and deletes the old ones.

Kubelets make these requests for the volumes of pods, and take the certificate from the status. They make a new one if
they do not get it in time, so an old request is of no use, whatever its status says.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from kinformer.manager import Controller, ControllerContext
from kinformer.models import V1beta1PodCertificateRequest
from kinformer_controllers.shared.certificates.cleaning import Cleaner
from kinformer_controllers.shared.gates import Gates
from kinformer_controllers.shared.options import GateOptions

__all__ = ("PERIOD", "make_controller", "why_it_goes")

#: Seconds between two checks, as in Kubernetes.
PERIOD: Final = 300.0
_OLD: Final = timedelta(minutes=15)


def make_controller(context: ControllerContext) -> Controller:
    """
    The factory of ``podcertificaterequest-cleaner-controller``.

    :raises ControllerDisabled: if the feature gate PodCertificateRequest is off
    """
    Gates(context.read(GateOptions).feature_gates).require("PodCertificateRequest")
    name = "podcertificaterequest-cleaner"
    return Cleaner(context, name, V1beta1PodCertificateRequest, why_it_goes, PERIOD).controller


def why_it_goes(request: V1beta1PodCertificateRequest, now: datetime) -> str | None:
    """Return the reason for deleting a request now; None if it stays."""
    made = request.metadata.creation_timestamp
    return "it is older than 15 minutes" if made is not None and now >= made + _OLD else None
