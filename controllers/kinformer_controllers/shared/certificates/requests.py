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

__all__ = (
    "KUBELET_CLIENT_SIGNER",
    "CertificateRequest",
    "RequestUnreadable",
    "kubelet_client_problem",
    "kubelet_serving_problem",
    "read_request",
)

KUBELET_CLIENT_SIGNER: Final = "kubernetes.io/kube-apiserver-client-kubelet"

_CLIENT: Final = frozenset({"digital signature", "client auth"})
_SERVING: Final = frozenset({"digital signature", "server auth"})
#: Allowed in addition: requests for RSA keys may have it.
_KEY_ENCIPHERMENT: Final = frozenset({"key encipherment"})
_NODES: Final = ("system:nodes",)
_NODE_PREFIX: Final = "system:node:"
_INSTALL: Final = "certificates need the package `cryptography`: pip install 'kinformer[signing]'"


class RequestUnreadable(SyncError):
    """The content is not a PKCS#10 request in PEM, or it is damaged."""


class CertificateRequest(NamedTuple):
    """
    The subject and the alternative names of a request.

    :param x509: the request itself, as an object of the ``cryptography`` package
    """

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
        from cryptography.x509.oid import NameOID
    except ImportError as error:
        raise ImportError(_INSTALL) from error
    name = request.metadata.name
    try:
        pem = base64.b64decode(request.spec.request)
        parsed = x509.load_pem_x509_csr(_first_block(pem))
        subject = parsed.subject
        common_names = [it.value for it in subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
        organizations = [it.value for it in subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)]
        try:
            names: Any = parsed.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        except x509.ExtensionNotFound:
            names = x509.SubjectAlternativeName([])
        return CertificateRequest(
            parsed,
            str(common_names[-1]) if common_names else "",
            tuple(map(str, organizations)),
            tuple(names.get_values_for_type(x509.DNSName)),
            tuple(names.get_values_for_type(x509.RFC822Name)),
            tuple(map(str, names.get_values_for_type(x509.IPAddress))),
            tuple(names.get_values_for_type(x509.UniformResourceIdentifier)),
        )
    except (ValueError, TypeError, x509.DuplicateExtension, x509.UnsupportedGeneralNameType) as error:
        raise RequestUnreadable(f"unable to parse csr {name!r}: {error}") from error


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


def _first_block(pem: bytes) -> bytes:
    """Return the first block of PEM, which must be a request. Text before and after it is ignored."""
    begin = pem.find(b"-----BEGIN ")
    if begin < 0 or not pem[begin:].startswith(b"-----BEGIN CERTIFICATE REQUEST-----"):
        raise ValueError("PEM block type must be CERTIFICATE REQUEST")
    end = b"-----END CERTIFICATE REQUEST-----"
    stop = pem.find(end, begin)
    if stop < 0:
        raise ValueError("PEM block type must be CERTIFICATE REQUEST")
    return pem[begin : stop + len(end)] + b"\n"
