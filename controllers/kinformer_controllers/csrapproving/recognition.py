"""Recognizing CertificateSigningRequests that can be approved automatically, and the permission that they need."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kinformer.models import V1CertificateSigningRequest
from kinformer_controllers.shared.certificates.requests import (
    KUBELET_CLIENT_SIGNER,
    CertificateRequest,
    kubelet_client_problem,
)

__all__ = ("Recognition", "is_node_client", "is_self_node_client", "recognitions")


class Recognition(NamedTuple):
    """
    A type of request that can be approved.

    :param subresource: the subresource of ``certificatesigningrequests`` that the user must be allowed to create
    :param message: the message of the condition
    """

    subresource: str
    message: str


def is_node_client(request: V1CertificateSigningRequest, parsed: CertificateRequest) -> bool:
    """Whether the request is for the client certificate of a kubelet."""
    spec = request.spec
    return spec.signer_name == KUBELET_CLIENT_SIGNER and not kubelet_client_problem(parsed, spec.usages or ())


def is_self_node_client(request: V1CertificateSigningRequest, parsed: CertificateRequest) -> bool:
    """Whether a kubelet requests its own client certificate, to renew it before it expires."""
    return (request.spec.username or "") == parsed.common_name and is_node_client(request, parsed)


def recognitions(request: V1CertificateSigningRequest, parsed: CertificateRequest) -> Iterator[Recognition]:
    """Return all types that the request matches. The most specific comes first."""
    if is_self_node_client(request, parsed):
        yield Recognition("selfnodeclient", "Auto approving self kubelet client certificate after SubjectAccessReview.")
    if is_node_client(request, parsed):
        yield Recognition("nodeclient", "Auto approving kubelet client certificate after SubjectAccessReview.")
