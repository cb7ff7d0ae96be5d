"""Reading the conditions of a CertificateSigningRequest."""

from __future__ import annotations

from typing import Any, Final

from kinformer.models import V1CertificateSigningRequest

__all__ = ("APPROVED", "DENIED", "FAILED", "conditions_of", "has_condition", "is_approved", "is_decided", "is_failed")

APPROVED: Final = "Approved"
DENIED: Final = "Denied"
FAILED: Final = "Failed"


def conditions_of(request: V1CertificateSigningRequest) -> list[Any]:
    status: Any = request.status
    return list((status.conditions if status is not None else None) or ())


def has_condition(request: V1CertificateSigningRequest, type_: str) -> bool:
    """
    Whether there is a condition of that type.

    The condition's status is not read: the API server accepts only True for approval and denial.
    """
    return any(condition.type == type_ for condition in conditions_of(request))


def is_approved(request: V1CertificateSigningRequest) -> bool:
    """Whether it was approved. A denial outweighs an approval."""
    return has_condition(request, APPROVED) and not has_condition(request, DENIED)


def is_decided(request: V1CertificateSigningRequest) -> bool:
    """Whether it was approved or denied."""
    return has_condition(request, APPROVED) or has_condition(request, DENIED)


def is_failed(request: V1CertificateSigningRequest) -> bool:
    """Whether its signer gave up. A Failed condition without a status counts as True."""
    return any(
        condition.type == FAILED and condition.status in (None, "", "True") for condition in conditions_of(request)
    )
