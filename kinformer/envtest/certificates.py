"""Certificates: an authority of the server's own, its server certificate, and clients' certificates.

kubectl and Go clients send tokens over TLS only; for them a server serves TLS. The certificates are made with the
`cryptography` package when they are first needed. An authority lives as long as the server, or as the file that keeps
the server's data.
"""

from __future__ import annotations

import ssl
from datetime import UTC, datetime
from typing import Any, Final

from kinformer.certificates import (
    LIFE,
    CertificatesUnavailable,
    KeyPair,
    make_authority,
    make_certificate,
    validity_of,
)
from kinformer.client.tls import pem_file

__all__ = ("Authority", "CertificatesUnavailable", "KeyPair", "user_of_certificate")

#: The name of each server's authority.
_NAME: Final = "kinformer"


class Authority:
    """
    A certificate authority that is made for one server.

    :param kept: an earlier one, which goes on; a new one is made if it ends within a year
    :ivar pair: its certificate and its key, from which it goes on after a restart
    :raises CertificatesUnavailable: if `cryptography` is not installed
    """

    def __init__(self, kept: KeyPair | None = None) -> None:
        now = datetime.now(UTC)
        if kept is not None and validity_of(kept.certificate)[1] > now + LIFE:
            self.pair = kept
        else:
            self.pair = make_authority(_NAME, now)

    @property
    def certificate(self) -> bytes:
        """Its certificate, in PEM: what clients trust."""
        return self.pair.certificate

    def issue(self, name: str, groups: tuple[str, ...] = (), hosts: tuple[str, ...] = ()) -> KeyPair:
        """
        A certificate for a server (with `hosts`) or for a client (whose user is `name`, in `groups`).
        """
        now = datetime.now(UTC)
        return make_certificate(name, now, authority=self.pair, hosts=hosts, organizations=groups)

    def server_context(self, hosts: tuple[str, ...]) -> ssl.SSLContext:
        """What a server on these hosts listens with; it asks clients for certificates, and does without."""
        pair = self.issue("kinformer-apiserver", hosts=hosts)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with pem_file(pair.certificate + pair.key) as path:
            context.load_cert_chain(path)
        context.load_verify_locations(cadata=self.certificate.decode())
        context.verify_mode = ssl.CERT_OPTIONAL
        return context


def user_of_certificate(certificate: Any) -> tuple[str, tuple[str, ...]] | None:
    """
    Who a client's certificate says that it is: a name and groups.

    :param certificate: as :meth:`ssl.SSLSocket.getpeercert` gives it
    """
    if not certificate:
        return None
    name, groups = "", []
    for part in certificate.get("subject", ()):
        for key, value in part:
            if key == "commonName":
                name = value
            elif key == "organizationName":
                groups.append(value)
    return (name, tuple(groups)) if name else None
