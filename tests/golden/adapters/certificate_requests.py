"""certificate_requests: is a request a kubelet's own, what has its signer against it, how long is it valid."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from kinformer.models import V1CertificateSigningRequest, from_dict
from kinformer_controllers.csrapproving.controller import is_node_client, is_self_node_client
from kinformer_controllers.csrsigning.controller import certificate_life, signer_problem
from kinformer_controllers.csrsigning.spec import SIGNERS
from kinformer_controllers.shared.certificates.requests import read_request

__all__ = ("answer",)

_LONGEST = timedelta(days=365)


def answer(case: Any) -> Any:
    request = from_dict(V1CertificateSigningRequest, case["csr"])
    spec, parsed = request.spec, read_request(request)
    return {
        "selfNodeClient": is_self_node_client(request, parsed),
        "nodeClient": is_node_client(request, parsed),
        "signable": spec.signer_name in SIGNERS.values(),
        "error": signer_problem(spec.signer_name, parsed, spec.usages or []),
        "durationSeconds": int(certificate_life(spec.expiration_seconds, _LONGEST).total_seconds()),
    }
