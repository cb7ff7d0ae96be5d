"""Which CertificateSigningRequests a machine may approve, and what the asker must be allowed to do for it."""

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
    What a request was recognized as.

    :param subresource: of ``certificatesigningrequests``, which the asker must be allowed to create
    :param message: for the condition
    """

    subresource: str
    message: str


def is_node_client(request: V1CertificateSigningRequest, parsed: CertificateRequest) -> bool:
    """Whether it is for the client certificate of a kubelet."""
    spec = request.spec
    return spec.signer_name == KUBELET_CLIENT_SIGNER and not kubelet_client_problem(parsed, spec.usages or ())


def is_self_node_client(request: V1CertificateSigningRequest, parsed: CertificateRequest) -> bool:
    """Whether a kubelet asks for its own client certificate, to have a new one before the old one ends."""
    return (request.spec.username or "") == parsed.common_name and is_node_client(request, parsed)


def recognitions(request: V1CertificateSigningRequest, parsed: CertificateRequest) -> Iterator[Recognition]:
    """All that it is, the narrowest first."""
    if is_self_node_client(request, parsed):
        yield Recognition("selfnodeclient", "Auto approving self kubelet client certificate after SubjectAccessReview.")
    if is_node_client(request, parsed):
        yield Recognition("nodeclient", "Auto approving kubelet client certificate after SubjectAccessReview.")
