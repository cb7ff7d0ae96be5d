"""The signers: issue a certificate for each approved request to one of Kubernetes' own signers.

In: approved CertificateSigningRequests. Out: the certificate, or a Failed condition with the reason. Each signer has
rules: which requests it signs, and how long certificates are valid. Promised: a request that breaks its signer's rules
is never signed, even if it was approved. A failed request is not tried again.
"""

from __future__ import annotations

import base64
import copy
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from kinformer.logs import get_logger
from kinformer.manager import ControllerContext, ControllerDisabled
from kinformer.models import (
    V1CertificateSigningRequest,
    V1CertificateSigningRequestCondition,
    V1CertificateSigningRequestStatus,
)
from kinformer_controllers.csrsigning.authority import CertificateAuthority, RequestRefused
from kinformer_controllers.csrsigning.spec import SIGNERS, SigningOptions, signer_files
from kinformer_controllers.shared.certificates.requests import (
    FAILED,
    CertificateRequest,
    RequestUnreadable,
    certificate_controller,
    conditions_of,
    is_approved,
    is_failed,
    kubelet_client_problem,
    kubelet_serving_problem,
    read_request,
)

__all__ = (
    "SigningController",
    "certificate_life",
    "signer_problem",
)

log = get_logger(__name__)

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


class SigningController:
    """
    One controller for all signers.

    :raises ControllerDisabled: if no signer has a CA
    :raises OptionError: if the files of a CA cannot be used
    """

    def __init__(self, context: ControllerContext) -> None:
        options = context.read(SigningOptions)
        files = signer_files(options)
        if not files:
            raise ControllerDisabled("neither --cluster-signing-cert-file nor one for a signer is given")
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
