"""The rules of each signer: which requests it signs, and how long certificates are valid."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from kinformer_controllers.csrsigning.spec import SIGNERS
from kinformer_controllers.shared.certificates.requests import (
    CertificateRequest,
    kubelet_client_problem,
    kubelet_serving_problem,
)

__all__ = ("certificate_life", "signer_problem")

#: The shortest life. It begins five minutes in the past, so a shorter one could be over before the certificate is used.
_SHORTEST: Final = timedelta(minutes=10)
_CLIENT_MAY: Final = ("digital signature", "key encipherment", "client auth")


def signer_problem(signer: str, request: CertificateRequest, usages: Sequence[str]) -> str:
    """Return why a signer refuses a request; ``""`` if it does not. The texts are Kubernetes'."""
    if signer == SIGNERS["kubelet_serving"]:
        return kubelet_serving_problem(request, usages)
    if signer == SIGNERS["kubelet_client"]:
        return kubelet_client_problem(request, usages)
    if signer == SIGNERS["kube_apiserver_client"]:
        return _client_problem(usages)
    return ""


def certificate_life(expiration_seconds: int | None, longest: timedelta) -> timedelta:
    """Return how long a certificate is valid: the requested time, but at least ten minutes and at most `longest`."""
    if expiration_seconds is None:
        return longest
    asked = timedelta(seconds=expiration_seconds)
    return longest if asked > longest else max(asked, _SHORTEST)


def _client_problem(usages: Sequence[str]) -> str:
    for usage in usages:
        if usage not in _CLIENT_MAY:
            return f"invalid usage for client certificate: {usage}"
    return "" if "client auth" in usages else "missing required usage for client certificate: client auth"
