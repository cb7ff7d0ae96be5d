"""Certificates: the server's own CA, its server certificate, and clients' certificates.

kubectl and Go clients send tokens only over TLS, so the server can serve TLS for them. The certificates are made with
the `cryptography` package when they are first needed. The CA lives as long as the server, or as the file with the
server's data.
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
from kinformer.client.tls import load_identity

__all__ = ("Authority", "CertificatesUnavailable", "KeyPair", "user_of_certificate")

#: The name of each server's CA.
_NAME: Final = "kinformer"


class Authority:
    """
    The CA of one server.

    :param kept: the certificate and key of an earlier CA, to continue it. If it expires within a year, a new CA is made
    :ivar pair: the CA's certificate and key, to continue it after a restart
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
        """The CA's certificate, in PEM. Clients trust it."""
        return self.pair.certificate

    def issue(self, name: str, groups: tuple[str, ...] = (), hosts: tuple[str, ...] = ()) -> KeyPair:
        """Issue a certificate for a server (with `hosts`), or for a client (whose user is `name`, in `groups`)."""
        now = datetime.now(UTC)
        return make_certificate(name, now, authority=self.pair, hosts=hosts, organizations=groups)

    def server_context(self, hosts: tuple[str, ...]) -> ssl.SSLContext:
        """Make the TLS context of a server on these hosts. It asks clients for certificates but requires none."""
        pair = self.issue("kinformer-apiserver", hosts=hosts)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        load_identity(context, pair.certificate + pair.key)
        context.load_verify_locations(cadata=self.certificate.decode())
        context.verify_mode = ssl.CERT_OPTIONAL
        return context


def user_of_certificate(certificate: Any) -> tuple[str, tuple[str, ...]] | None:
    """
    The user in a client's certificate: a name and groups.

    :param certificate: as :meth:`ssl.SSLSocket.getpeercert` gives it
    """
    pairs = [pair for part in (certificate or {}).get("subject", ()) for pair in part]
    name = dict(pairs).get("commonName")
    return (name, tuple(value for key, value in pairs if key == "organizationName")) if name else None
