"""The approver: approves the requests of kubelets for client certificates, if the requesting user is allowed to do so.

In: CertificateSigningRequests that are neither approved nor denied. Out: an Approved condition. Promised: a request is
approved only if the API server allows it, by a SubjectAccessReview for the user who made the request. Which permission
that must be follows from the request. The approver never denies a request.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import NamedTuple

from kinformer.logs import get_logger
from kinformer.manager import ControllerContext, SyncError
from kinformer.models import (
    V1CertificateSigningRequest,
    V1CertificateSigningRequestCondition,
    V1CertificateSigningRequestStatus,
    V1ResourceAttributes,
    V1SubjectAccessReview,
    V1SubjectAccessReviewSpec,
)
from kinformer_controllers.shared.certificates.requests import (
    APPROVED,
    KUBELET_CLIENT_SIGNER,
    CertificateRequest,
    RequestUnreadable,
    certificate_controller,
    conditions_of,
    is_decided,
    kubelet_client_problem,
    read_request,
)

__all__ = (
    "ApprovingController",
    "is_node_client",
    "is_self_node_client",
)

log = get_logger(__name__)


class _Recognition(NamedTuple):
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


def _recognitions(request: V1CertificateSigningRequest, parsed: CertificateRequest) -> Iterator[_Recognition]:
    """Return all types that the request matches. The most specific comes first."""
    if is_self_node_client(request, parsed):
        yield _Recognition(
            "selfnodeclient", "Auto approving self kubelet client certificate after SubjectAccessReview."
        )
    if is_node_client(request, parsed):
        yield _Recognition("nodeclient", "Auto approving kubelet client certificate after SubjectAccessReview.")


class ApprovingController:
    """Syncs CertificateSigningRequests."""

    def __init__(self, context: ControllerContext) -> None:
        self._requests = context.client.resource(V1CertificateSigningRequest).subresource(
            "approval", V1CertificateSigningRequest
        )
        self._reviews = context.client.resource(V1SubjectAccessReview)
        self.controller = certificate_controller("csrapproving", context.informers, self.handle, context.clock)

    async def handle(self, request: V1CertificateSigningRequest) -> None:
        """
        Approve a request, if it is for a kubelet's client certificate and allowed.

        :raises SyncError: if its user does not have the permission; it is retried, because the permission may come
        :raises ClientError: if the server refuses the review or the approval
        """
        if is_decided(request):
            return
        try:
            parsed = read_request(request)
        except RequestUnreadable as error:
            # It stays unreadable, because a request's spec cannot be changed. Its signer says so in a condition.
            log.warning("request_not_recognized", request=request.metadata.name, why=str(error))
            return
        tried = []
        for recognized in _recognitions(request, parsed):
            tried.append(recognized.subresource)
            if await self._may(request, recognized):
                await self._approve(request, recognized.message)
                return
        if tried:
            name = request.metadata.name
            raise SyncError(f"recognized csr {name!r} as {tried} but subject access review was not approved")

    async def _may(self, request: V1CertificateSigningRequest, recognized: _Recognition) -> bool:
        spec = request.spec
        attributes = V1ResourceAttributes(
            group="certificates.k8s.io",
            resource="certificatesigningrequests",
            subresource=recognized.subresource,
            verb="create",
            version="*",
        )
        review = V1SubjectAccessReview(
            spec=V1SubjectAccessReviewSpec(
                user=spec.username,
                uid=spec.uid,
                groups=spec.groups,
                extra=spec.extra,
                resource_attributes=attributes,
            )
        )
        answer = await self._reviews.create(review)
        return answer.status is not None and answer.status.allowed

    async def _approve(self, request: V1CertificateSigningRequest, message: str) -> None:
        approval = V1CertificateSigningRequestCondition(
            type=APPROVED, status="True", reason="AutoApproved", message=message
        )
        approved = copy.copy(request)
        approved.status = copy.copy(request.status or V1CertificateSigningRequestStatus())
        approved.status.conditions = [*conditions_of(request), approval]
        await self._requests.update(request.metadata.name, approved)
