"""The cleaner of CertificateSigningRequests: checks all of them once an hour, and deletes the old ones.

Machines create these requests, and no other component deletes them. The periods are Kubernetes'.
"""

from __future__ import annotations

import base64
from datetime import datetime, timedelta
from typing import Final

from kinformer.manager import Controller, ControllerContext
from kinformer.models import V1CertificateSigningRequest
from kinformer_controllers.shared.certificates.cleaning import Cleaner
from kinformer_controllers.shared.certificates.requests import APPROVED, DENIED, FAILED, conditions_of

__all__ = (
    "PERIOD",
    "make_controller",
    "why_it_goes",
)

_ISSUED: Final = timedelta(hours=1)
_REFUSED: Final = timedelta(hours=1)
_PENDING: Final = timedelta(hours=24)

#: Seconds between two checks, as in Kubernetes.
PERIOD: Final = 3600.0


def why_it_goes(request: V1CertificateSigningRequest, now: datetime) -> str | None:
    """Return the reason for deleting a request now; None if it stays."""
    conditions = conditions_of(request)
    certificate = (request.status.certificate if request.status is not None else None) or ""
    for condition in conditions:
        since = condition.last_update_time
        if condition.type == APPROVED and certificate and _is_older(since, _ISSUED, now):
            return "its certificate was issued long ago"
        if condition.type in (DENIED, FAILED) and _is_older(since, _REFUSED, now):
            return "it was denied, or failed, long ago"
        if condition.type == APPROVED and not certificate and _is_older(since, _PENDING, now):
            return "it was approved long ago, and nobody has signed it"
        if condition.type == APPROVED and certificate and _is_over(certificate, now):
            return "its certificate has expired"
    if not conditions and _is_older(request.metadata.creation_timestamp, _PENDING, now):
        return "nobody has decided on it for long"
    return None


def _is_older(time: datetime | None, age: timedelta, now: datetime) -> bool:
    return time is not None and now - time > age


def _is_over(certificate: str, now: datetime) -> bool:
    """Whether the certificate has expired. If it cannot be read, the result is False, and the other rules decide."""
    from cryptography import x509

    try:
        return now > x509.load_pem_x509_certificate(base64.b64decode(certificate)).not_valid_after_utc
    except ValueError:
        return False


def make_controller(context: ControllerContext) -> Controller:
    """The entry point of the cleaner. It has no options."""
    return Cleaner(context, "csrcleaner", V1CertificateSigningRequest, why_it_goes, PERIOD).controller
