"""A certificate authority for tests."""

from __future__ import annotations

import ipaddress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

__all__ = ("Authority",)


class Authority:
    """
    A certificate authority, and what it has signed, as files.

    :param bare: its certificates have only the extensions that they must have: no key identifiers, no usage
    """

    def __init__(self, folder: Path, *, bare: bool = False):
        self._folder = folder
        self._bare = bare
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "ca")])
        self.ca = self._write("ca.crt", self._sign(self._name, self._key.public_key(), [], is_ca=True))
        self.server = self._issue("server", [x509.DNSName("kube.example"), x509.IPAddress(ipaddress.IPv4Address(1))])
        self.client = self._issue("client", [])

    def issue_to(self, name: str, cert: Path, key: Path) -> None:
        """Put a new client certificate of that name, and its key, into these files."""
        for made, wanted in zip(self._issue(name, []), (cert, key), strict=True):
            made.replace(wanted)

    def _issue(self, name: str, names: list[x509.GeneralName]) -> tuple[Path, Path]:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        pem = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return (
            self._write(f"{name}.crt", self._sign(subject, key.public_key(), names)),
            self._write(f"{name}.key", pem),
        )

    def _sign(self, subject: x509.Name, key: Any, names: list[x509.GeneralName], *, is_ca: bool = False) -> bytes:
        now = datetime.now(UTC)
        public = self._key.public_key()
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=is_ca, path_length=None), critical=True)
        )
        if not self._bare:
            usage = x509.KeyUsage(True, False, False, False, False, is_ca, is_ca, False, False)
            builder = (
                builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
                .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(public), critical=False)
                .add_extension(usage, critical=True)
            )
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        return builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    def _write(self, name: str, data: bytes) -> Path:
        path = self._folder / name
        path.write_bytes(data)
        return path
