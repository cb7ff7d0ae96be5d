"""The signers: issue a certificate for each approved request to one of Kubernetes' own signers.

In: approved CertificateSigningRequests. Out: the certificate, or a Failed condition with the reason. Promised: a
request that breaks its signer's rules is never signed, even if it was approved. A failed request is not tried again.
"""

from __future__ import annotations

import base64
import copy
from datetime import timedelta

from kinformer.logs import get_logger
from kinformer.manager import Controller, ControllerContext, ControllerDisabled
from kinformer.models import (
    V1CertificateSigningRequest,
    V1CertificateSigningRequestCondition,
    V1CertificateSigningRequestStatus,
)
from kinformer_controllers.csrsigning.authority import CertificateAuthority, RequestRefused
from kinformer_controllers.csrsigning.spec import SigningOptions, signer_files
from kinformer_controllers.csrsigning.verification import certificate_life, signer_problem
from kinformer_controllers.shared.certificates.conditions import FAILED, conditions_of, is_approved, is_failed
from kinformer_controllers.shared.certificates.queueing import certificate_controller
from kinformer_controllers.shared.certificates.requests import RequestUnreadable, read_request

__all__ = ("SigningController", "make_controller")

log = get_logger(__name__)


def make_controller(context: ControllerContext) -> Controller:
    """
    The entry point of the signers; their options are :class:`.SigningOptions`.

    :raises ControllerDisabled: if no signer has a CA
    :raises OptionError: if the files of a CA cannot be used
    """
    if not signer_files(context.read(SigningOptions)):
        raise ControllerDisabled("neither --cluster-signing-cert-file nor one for a signer is given")
    return SigningController(context).controller


class SigningController:
    """One controller for all signers."""

    def __init__(self, context: ControllerContext) -> None:
        options = context.read(SigningOptions)
        files = signer_files(options)
        made = {pair: CertificateAuthority(pair) for pair in set(files.values())}
        self._clock = context.clock
        #: The CAs by the signer's name. Requests to other signers are ignored.
        self._authorities = {signer: made[pair] for signer, pair in files.items()}
        self._longest = timedelta(seconds=options.cluster_signing_duration)
        self._requests = context.client.resource(V1CertificateSigningRequest)
        self.controller = certificate_controller("csrsigning", context.informers, self.handle, self._clock)

    async def handle(self, request: V1CertificateSigningRequest) -> None:
        """
        Sign a request, if it is approved and for one of the signers.

        What is wrong with the request itself makes it Failed, and it is not tried again: its spec cannot be changed.

        :raises SyncError: if it cannot be signed now
        :raises ClientError: if the server refuses the write
        """
        spec = request.spec
        authority = self._authorities.get(spec.signer_name)
        if authority is None or not is_approved(request) or is_failed(request):
            return
        try:
            certificate = await self._sign(request, authority)
        except (RequestUnreadable, RequestRefused) as error:
            log.warning("request_refused", request=request.metadata.name, why=str(error))
            await self._write(request, failure=str(error))
        else:
            await self._write(request, certificate=certificate)

    async def _sign(self, request: V1CertificateSigningRequest, authority: CertificateAuthority) -> bytes:
        spec = request.spec
        parsed, usages = read_request(request), spec.usages or []
        if problem := signer_problem(spec.signer_name, parsed, usages):
            raise RequestRefused(problem)
        await authority.refresh()
        life = certificate_life(spec.expiration_seconds, self._longest)
        return authority.sign(parsed, usages, life, self._clock.now())

    async def _write(
        self, request: V1CertificateSigningRequest, *, certificate: bytes = b"", failure: str = ""
    ) -> None:
        written = copy.copy(request)
        written.status = copy.copy(request.status or V1CertificateSigningRequestStatus())
        if certificate:
            written.status.certificate = base64.b64encode(certificate).decode()
        if failure:
            failed = V1CertificateSigningRequestCondition(
                type=FAILED,
                status="True",
                reason="SignerValidationFailure",
                message=failure,
                last_update_time=self._clock.now(),
            )
            written.status.conditions = [*conditions_of(request), failed]
        await self._requests.update_status(written)
