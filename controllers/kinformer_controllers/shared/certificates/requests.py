"""CertificateSigningRequests: their conditions, the PKCS#10 request in each, and passing them to a controller.

The PKCS#10 request is read from PEM into a :class:`CertificateRequest` with the fields that Kubernetes' rules need. The
rules say why a request cannot be for a kubelet's client or serving certificate. The texts of reasons are Kubernetes',
because they are written into conditions. A controller gets the requests one at a time, for an approver or a signer.
"""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final, NamedTuple

from kinformer.clock import Clock
from kinformer.informers import SharedInformerFactory
from kinformer.manager import Controller, SyncError
from kinformer.models import V1CertificateSigningRequest
from kinformer.workqueue import (
    BucketRateLimiter,
    ItemExponentialFailureRateLimiter,
    MaxOfRateLimiter,
)
from kinformer_controllers.shared.certificates.pkcs10 import DNS, EMAIL, IP, URI, Pkcs10, identifier, read_pkcs10

__all__ = (
    "APPROVED",
    "COMMON_NAME",
    "DENIED",
    "FAILED",
    "KUBELET_CLIENT_SIGNER",
    "ORGANIZATION",
    "CertificateRequest",
    "RequestUnreadable",
    "certificate_controller",
    "conditions_of",
    "is_approved",
    "is_decided",
    "is_failed",
    "kubelet_client_problem",
    "kubelet_serving_problem",
    "read_request",
)

APPROVED: Final = "Approved"
DENIED: Final = "Denied"
FAILED: Final = "Failed"

COMMON_NAME: Final = identifier("2.5.4.3")
ORGANIZATION: Final = identifier("2.5.4.10")

KUBELET_CLIENT_SIGNER: Final = "kubernetes.io/kube-apiserver-client-kubelet"

_CLIENT: Final = frozenset({"digital signature", "client auth"})
_SERVING: Final = frozenset({"digital signature", "server auth"})
#: Allowed in addition: requests for RSA keys may have it.
_KEY_ENCIPHERMENT: Final = frozenset({"key encipherment"})
_NODES: Final = ("system:nodes",)
_NODE_PREFIX: Final = "system:node:"
_INSTALL: Final = "certificates need the package `cryptography`: pip install 'kinformer[signing]'"

#: Kubernetes' values: the number of workers; the delays of retries in seconds; the retries a second for all keys.
_WORKERS: Final = 5
_FIRST_RETRY, _LAST_RETRY = 0.2, 1000.0
_RETRIES_A_SECOND, _BURST = 10.0, 100


def conditions_of(request: V1CertificateSigningRequest) -> list[Any]:
    status: Any = request.status
    return list((status.conditions if status is not None else None) or ())


def _has_condition(request: V1CertificateSigningRequest, type_: str) -> bool:
    """
    Whether there is a condition of that type.

    The condition's status is not read: the API server accepts only True for approval and denial.
    """
    return any(condition.type == type_ for condition in conditions_of(request))


def is_approved(request: V1CertificateSigningRequest) -> bool:
    """Whether it was approved. A denial outweighs an approval."""
    return _has_condition(request, APPROVED) and not _has_condition(request, DENIED)


def is_decided(request: V1CertificateSigningRequest) -> bool:
    """Whether it was approved or denied."""
    return _has_condition(request, APPROVED) or _has_condition(request, DENIED)


def is_failed(request: V1CertificateSigningRequest) -> bool:
    """Whether its signer gave up. A Failed condition without a status counts as True."""
    return any(
        condition.type == FAILED and condition.status in (None, "", "True") for condition in conditions_of(request)
    )


class RequestUnreadable(SyncError):
    """The content is not a PKCS#10 request in PEM, or it is damaged. It stays so: a spec cannot be changed."""


class CertificateRequest(NamedTuple):
    """
    The subject and the alternative names of a request.

    :param pkcs10: all that was read
    :param x509: the request as an object of the ``cryptography`` package, for its key and its signature. Its own view
        of the names is not used, because it differs from that of the API server
    """

    pkcs10: Pkcs10
    x509: Any
    common_name: str
    organizations: tuple[str, ...]
    dns_names: tuple[str, ...]
    emails: tuple[str, ...]
    ip_addresses: tuple[str, ...]
    uris: tuple[str, ...]


def read_request(request: V1CertificateSigningRequest) -> CertificateRequest:
    """
    Decode the PKCS#10 request.

    :raises RequestUnreadable: if it cannot be decoded
    :raises ImportError: if the package ``cryptography`` is not installed
    """
    try:
        from cryptography import x509
    except ImportError as error:
        raise ImportError(_INSTALL) from error
    name = request.metadata.name
    try:
        read = read_pkcs10(base64.b64decode(request.spec.request, validate=True))
        parsed = x509.load_der_x509_csr(read.der)
    except (ValueError, TypeError, x509.InvalidVersion) as error:
        raise RequestUnreadable(f"unable to parse csr {name!r}: {error}") from error
    common_names = read.texts_of(COMMON_NAME)
    return CertificateRequest(
        read,
        parsed,
        common_names[-1] if common_names else "",
        read.texts_of(ORGANIZATION),
        *(read.names_of(tag) for tag in (DNS, EMAIL, IP, URI)),
    )


def kubelet_client_problem(request: CertificateRequest, usages: Iterable[str]) -> str:
    """Return why a request cannot be for a kubelet's client certificate; ``""`` if it can."""
    if request.organizations != _NODES:
        return "subject organization is not system:nodes"
    for names, kind in (
        (request.dns_names, "DNS"),
        (request.emails, "Email"),
        (request.ip_addresses, "IP"),
        (request.uris, "URI"),
    ):
        if names:
            return f"{kind} subjectAltNames are not allowed"
    if not request.common_name.startswith(_NODE_PREFIX):
        return "subject common name does not begin with system:node:"
    return _usage_problem(usages, _CLIENT)


def kubelet_serving_problem(request: CertificateRequest, usages: Iterable[str]) -> str:
    """Return why a request cannot be for a kubelet's serving certificate; ``""`` if it can."""
    if request.organizations != _NODES:
        return "subject organization is not system:nodes"
    if not request.dns_names and not request.ip_addresses:
        return "DNS or IP subjectAltName is required"
    for names, kind in ((request.emails, "Email"), (request.uris, "URI")):
        if names:
            return f"{kind} subjectAltNames are not allowed"
    if problem := _usage_problem(usages, _SERVING):
        return problem
    if not request.common_name.startswith(_NODE_PREFIX):
        return "subject common name does not begin with system:node:"
    return ""


def _usage_problem(usages: Iterable[str], wanted: frozenset[str]) -> str:
    asked, all_of = frozenset(usages), wanted | _KEY_ENCIPHERMENT
    return "" if asked in (wanted, all_of) else f"usages did not match [{' '.join(sorted(all_of))}]"


def certificate_controller(
    name: str,
    informers: SharedInformerFactory,
    handle: Callable[[V1CertificateSigningRequest], Awaitable[None]],
    clock: Clock,
) -> Controller:
    """
    Make a controller that calls `handle` when a request has changed and has no certificate yet.

    :param handle: may raise; then it is called again, after a delay that grows with each failure
    """
    requests = informers.informer_for(V1CertificateSigningRequest)

    async def sync(key: str) -> None:
        request = requests.indexer.get_by_key(key)
        if request is not None and not (request.status is not None and request.status.certificate):
            await handle(request)

    limiter: MaxOfRateLimiter[str] = MaxOfRateLimiter(
        ItemExponentialFailureRateLimiter(_FIRST_RETRY, _LAST_RETRY),
        BucketRateLimiter(_RETRIES_A_SECOND, _BURST, clock=clock),
    )
    controller = Controller(name, sync, workers=_WORKERS, queue_name="certificate", limiter=limiter, clock=clock)
    return controller.watch(requests)
