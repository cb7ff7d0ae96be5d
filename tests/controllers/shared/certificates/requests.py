"""CertificateSigningRequests for tests, made with keys of their own."""

from __future__ import annotations

import base64
import ipaddress
from datetime import datetime
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from kinformer.models import V1CertificateSigningRequest, from_dict

__all__ = ("CLIENT", "condition", "make_request", "pem_of_request")

CLIENT = "kubernetes.io/kube-apiserver-client-kubelet"


def pem_of_request(
    name: str = "system:node:n",
    organizations: tuple[str, ...] = ("system:nodes",),
    *,
    dns: tuple[str, ...] = (),
    ips: tuple[str, ...] = (),
    uris: tuple[str, ...] = (),
    emails: tuple[str, ...] = (),
    key: Any = None,
) -> bytes:
    key = key or ec.generate_private_key(ec.SECP256R1())
    parts = [x509.NameAttribute(x509.NameOID.ORGANIZATION_NAME, it) for it in organizations]
    if name:
        parts.append(x509.NameAttribute(x509.NameOID.COMMON_NAME, name))
    names: list[x509.GeneralName] = [x509.DNSName(it) for it in dns]
    names += [x509.IPAddress(ipaddress.ip_address(it)) for it in ips]
    names += [x509.UniformResourceIdentifier(it) for it in uris] + [x509.RFC822Name(it) for it in emails]
    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name(parts))
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def make_request(
    pem: bytes | None = None,
    *,
    signer: str = CLIENT,
    usages: tuple[str, ...] = ("digital signature", "client auth"),
    conditions: tuple[dict[str, Any], ...] = (),
    certificate: bytes = b"",
    **spec: Any,
) -> V1CertificateSigningRequest:
    status: dict[str, Any] = {"conditions": list(conditions)} if conditions else {}
    if certificate:
        status["certificate"] = base64.b64encode(certificate).decode()
    request = base64.b64encode(pem if pem is not None else pem_of_request()).decode()
    spec = {"request": request, "signerName": signer, "usages": list(usages), **spec}
    metadata = {"name": "r", "creationTimestamp": "2026-01-01T00:00:00Z"}
    return from_dict(V1CertificateSigningRequest, {"metadata": metadata, "spec": spec, "status": status})


def condition(type_: str, at: datetime | None = None, status: str | None = "True") -> dict[str, Any]:
    found = {"type": type_, "status": status, "reason": "Tested"}
    if at is not None:
        found["lastUpdateTime"] = at.strftime("%Y-%m-%dT%H:%M:%SZ")
    return found
