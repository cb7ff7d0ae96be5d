"""Certificates: an authority of the server's own, its server certificate, and clients' certificates.

kubectl and Go clients send tokens over TLS only; for them a server serves TLS. The certificates are made with the
`cryptography` package when they are first needed. An authority lives as long as the server, or as the file that keeps
the server's data.
"""

from __future__ import annotations

import ipaddress
import ssl
import tempfile
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ("Authority", "CertificatesUnavailable", "KeyPair", "user_of_certificate")

_LIFE = timedelta(days=365)
_AUTHORITY_LIFE = timedelta(days=3650)


class CertificatesUnavailable(Exception):
    """The package that makes certificates is not installed."""


class KeyPair(NamedTuple):
    """A certificate and its key, in PEM."""

    certificate: bytes
    key: bytes


class Authority:
    """
    A certificate authority that is made for one server.

    :param kept: what an earlier one was, to go on as that; a new one is made if it is over
    :raises CertificatesUnavailable: if `cryptography` is not installed
    """

    def __init__(self, kept: KeyPair | None = None) -> None:
        try:
            from cryptography import x509
            from cryptography.hazmat.primitives import serialization
            from cryptography.hazmat.primitives.asymmetric import ec
        except ImportError as error:
            raise CertificatesUnavailable("TLS needs the package `cryptography`: pip install cryptography") from error
        self._name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "kinformer")])
        if kept is not None and x509.load_pem_x509_certificate(kept.certificate).not_valid_after_utc > _now() + _LIFE:
            self._key: Any = serialization.load_pem_private_key(kept.key, None)
            self.certificate = kept.certificate
            return
        self._key = ec.generate_private_key(ec.SECP256R1())
        builder = self._builder(self._name, self._key.public_key(), _AUTHORITY_LIFE)
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        self.certificate = self._sign(builder.add_extension(_usage(signs_certificates=True), critical=True))

    @property
    def pair(self) -> KeyPair:
        """What the authority goes on from, after a restart."""
        return KeyPair(self.certificate, _pem_of(self._key))

    def _builder(self, subject: Any, key: Any, life: timedelta = _LIFE) -> Any:
        from cryptography import x509

        now = _now()
        builder = x509.CertificateBuilder().subject_name(subject).issuer_name(self._name).public_key(key)
        builder = builder.serial_number(x509.random_serial_number())
        # RFC 5280 asks for both in all certificates of a chain, and Python does so from 3.13 on.
        own, issuers = x509.SubjectKeyIdentifier, x509.AuthorityKeyIdentifier
        builder = builder.add_extension(own.from_public_key(key), critical=False)
        builder = builder.add_extension(issuers.from_issuer_public_key(self._key.public_key()), critical=False)
        # Some machines' clocks are a little behind.
        return builder.not_valid_before(now - timedelta(hours=1)).not_valid_after(now + life)

    def _sign(self, builder: Any) -> bytes:
        from cryptography.hazmat.primitives import hashes, serialization

        signed: bytes = builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
        return signed

    def issue(self, name: str, groups: tuple[str, ...] = (), hosts: tuple[str, ...] = ()) -> KeyPair:
        """
        A certificate for a server (with `hosts`) or for a client (whose user is `name`, in `groups`).
        """
        from cryptography import x509
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.x509.oid import ExtendedKeyUsageOID

        key = ec.generate_private_key(ec.SECP256R1())
        parts = [x509.NameAttribute(x509.NameOID.ORGANIZATION_NAME, group) for group in groups]
        subject = x509.Name([*parts, x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        builder = self._builder(subject, key.public_key())
        builder = builder.add_extension(_usage(signs_certificates=False), critical=True)
        purpose = ExtendedKeyUsageOID.SERVER_AUTH if hosts else ExtendedKeyUsageOID.CLIENT_AUTH
        builder = builder.add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
        if hosts:
            names: list[Any] = []
            for host in hosts:
                with suppress(ValueError):
                    names.append(x509.IPAddress(ipaddress.ip_address(host)))
                    continue
                names.append(x509.DNSName(host))
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        return KeyPair(self._sign(builder), _pem_of(key))

    def server_context(self, hosts: tuple[str, ...]) -> ssl.SSLContext:
        """What a server on these hosts listens with; it asks clients for certificates, and does without."""
        pair = self.issue("kinformer-apiserver", hosts=hosts)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        # The ssl module reads certificates from files only.
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "server.pem")
            path.touch(mode=0o600)
            path.write_bytes(pair.certificate + pair.key)
            context.load_cert_chain(path)
        context.load_verify_locations(cadata=self.certificate.decode())
        context.verify_mode = ssl.CERT_OPTIONAL
        return context


def _now() -> datetime:
    return datetime.now(UTC)


def _pem_of(key: Any) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    pem: bytes = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return pem


def _usage(*, signs_certificates: bool) -> Any:
    from cryptography import x509

    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


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
