"""The approver: approves the requests of kubelets for client certificates, if the requesting user is allowed to do so.

In: CertificateSigningRequests that are neither approved nor denied. Out: an Approved condition. Promised: a request is
approved only if the API server allows it, by a SubjectAccessReview for the user who made the request. The approver
never denies a request.
"""

from __future__ import annotations

import copy

from kinformer.logs import get_logger
from kinformer.manager import Controller, ControllerContext, SyncError
from kinformer.models import (
    V1CertificateSigningRequest,
    V1CertificateSigningRequestCondition,
    V1CertificateSigningRequestStatus,
    V1ResourceAttributes,
    V1SubjectAccessReview,
    V1SubjectAccessReviewSpec,
)
from kinformer_controllers.csrapproving.recognition import Recognition, recognitions
from kinformer_controllers.shared.certificates.conditions import APPROVED, conditions_of, is_decided
from kinformer_controllers.shared.certificates.queueing import certificate_controller
from kinformer_controllers.shared.certificates.requests import RequestUnreadable, read_request

__all__ = ("ApprovingController", "make_controller")

log = get_logger(__name__)


def make_controller(context: ControllerContext) -> Controller:
    """The entry point of the approver. It has no options."""
    return ApprovingController(context).controller


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
        for recognized in recognitions(request, parsed):
            tried.append(recognized.subresource)
            if await self._may(request, recognized):
                await self._approve(request, recognized.message)
                return
        if tried:
            name = request.metadata.name
            raise SyncError(f"recognized csr {name!r} as {tried} but subject access review was not approved")

    async def _may(self, request: V1CertificateSigningRequest, recognized: Recognition) -> bool:
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
