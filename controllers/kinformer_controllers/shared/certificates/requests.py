"""Reading the PKCS#10 request in a CertificateSigningRequest, and comparing it with Kubernetes' rules.

In: the request in PEM. Out: a :class:`CertificateRequest` with the fields that the rules need, and the reason why it
cannot be for a kubelet's client or serving certificate. The texts of reasons are Kubernetes', because they are
written into conditions.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from kinformer.manager import SyncError
from kinformer.models import V1CertificateSigningRequest
from kinformer_controllers.shared.certificates.der import identifier
from kinformer_controllers.shared.certificates.pkcs10 import DNS, EMAIL, IP, URI, Pkcs10, read_pkcs10

__all__ = (
    "COMMON_NAME",
    "KUBELET_CLIENT_SIGNER",
    "ORGANIZATION",
    "CertificateRequest",
    "RequestUnreadable",
    "kubelet_client_problem",
    "kubelet_serving_problem",
    "read_request",
)

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
