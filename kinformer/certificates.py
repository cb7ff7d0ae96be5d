"""Make certificates: CAs, and the certificates that they sign for servers and clients.

The functions take names and a time, and return PEM. The embedded API server, the endpoint of a manager and webhooks use
them if they are given no certificates. The package `cryptography` makes the certificates. It is imported when the first
one is made. Nothing here reads or writes files.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

__all__ = (
    "AUTHORITY_LIFE",
    "LIFE",
    "CertificatesUnavailable",
    "KeyPair",
    "first_of",
    "is_signed_by",
    "load_private_key",
    "make_authority",
    "make_certificate",
    "names_of",
    "validity_of",
)

#: How long a CA, and a certificate, is valid by default.
AUTHORITY_LIFE: Final = timedelta(days=3650)
LIFE: Final = timedelta(days=365)

#: A certificate is valid from a little before it is made, because the clocks of some machines are a little behind.
_BEHIND: Final = timedelta(hours=1)

#: The longest common name that X.509 allows (RFC 5280, ub-common-name), in characters.
_LONGEST_NAME: Final = 64


class CertificatesUnavailable(Exception):
    """The package `cryptography`, which makes certificates, is not installed."""


class KeyPair(NamedTuple):
    """A certificate and its key, in PEM."""

    certificate: bytes
    key: bytes


def make_authority(name: str, now: datetime, life: timedelta = AUTHORITY_LIFE) -> KeyPair:
    """
    Make a self-signed CA.

    :param name: its common name, of at most 64 characters
    :raises ValueError: if the name is too long
    :raises CertificatesUnavailable: if `cryptography` is not installed
    """
    x509 = _x509()
    key = _new_key()
    subject = _name_of(x509, name)
    builder = _builder(x509, subject, subject, key.public_key(), key.public_key(), now, life)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    return _signed(builder.add_extension(_usage(x509, signs_certificates=True), critical=True), key, key)


def make_certificate(
    name: str,
    now: datetime,
    *,
    authority: KeyPair | None,
    hosts: Sequence[str] = (),
    organizations: Sequence[str] = (),
    life: timedelta = LIFE,
) -> KeyPair:
    """
    Make a certificate for a server (if there are hosts) or for a client (if there are none).

    :param name: the common name. For a client it is the user, of at most 64 characters. For a server it is cut to 64
        characters, because clients check the hosts instead
    :param authority: the CA that signs the certificate. None makes a self-signed certificate
    :param hosts: the DNS names and IP addresses of the server
    :param organizations: for a client, its groups
    :raises ValueError: if the user is too long, or a host is not in ASCII
    :raises CertificatesUnavailable: if `cryptography` is not installed
    """
    x509 = _x509()
    if not hosts and len(name) > _LONGEST_NAME:
        # The beginning of a user's name can be the name of another user.
        raise ValueError(
            f"the user of a certificate has at most {_LONGEST_NAME} characters, but {name!r} has {len(name)}"
        )
    key = _new_key()
    subject = _name_of(x509, name[:_LONGEST_NAME], organizations)
    issuer, signing = subject, key
    if authority is not None:
        issuer = x509.load_pem_x509_certificate(authority.certificate).subject
        signing = load_private_key(authority.key)
    builder = _builder(x509, subject, issuer, key.public_key(), signing.public_key(), now, life)
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    if authority is not None:
        # A self-signed certificate is not restricted like this: whoever trusts it uses it as its own CA.
        builder = builder.add_extension(_usage(x509, signs_certificates=False), critical=True)
    purposes = x509.oid.ExtendedKeyUsageOID
    purpose = purposes.SERVER_AUTH if hosts else purposes.CLIENT_AUTH
    builder = builder.add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
    if hosts:
        names = list(dict.fromkeys(_host(x509, host) for host in hosts))
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return _signed(builder, signing, key)


def load_private_key(pem: bytes) -> Any:
    """
    Read a private key, and check an RSA key as Go does.

    Whether its factors are prime is not checked. OpenSSL would try that for 40 ms with each start of a manager.

    :raises ValueError: if it is not a private key, or the parts of an RSA key do not belong together
    :raises TypeError: if it has a password
    :raises CertificatesUnavailable: if `cryptography` is not installed
    """
    _x509()
    from cryptography.hazmat.primitives.asymmetric import rsa
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    key = load_pem_private_key(pem, None, unsafe_skip_rsa_key_validation=True)
    if isinstance(key, rsa.RSAPrivateKey):
        its = key.private_numbers()
        rest = its.d * its.public_numbers.e - 1
        if rest % (its.p - 1) or rest % (its.q - 1):
            raise ValueError("its private exponent is not that of its public key")
    return key


def validity_of(certificates: bytes) -> tuple[datetime, datetime]:
    """
    The first and the last moment at which a certificate is valid.

    :param certificates: one or more, in PEM. Only the first is read
    :raises ValueError: if there is no certificate
    :raises CertificatesUnavailable: if `cryptography` is not installed
    """
    first = _first(certificates)
    return first.not_valid_before_utc, first.not_valid_after_utc


def names_of(certificates: bytes) -> frozenset[str]:
    """
    The DNS names and IP addresses of the server that a certificate is for. A client's certificate has none.

    :param certificates: one or more, in PEM. Only the first is read
    :raises ValueError: if there is no certificate
    :raises CertificatesUnavailable: if `cryptography` is not installed
    """
    x509 = _x509()
    try:
        found = _first(certificates).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return frozenset()
    return frozenset(str(name.value) for name in found)


def is_signed_by(certificates: bytes, authority: bytes) -> bool:
    """
    Whether a CA has signed a certificate. False also if one of the two cannot be read as a certificate.

    :param certificates: one or more, in PEM. Only the first is checked
    :param authority: the certificates of one or more CAs, in PEM
    :raises CertificatesUnavailable: if `cryptography` is not installed
    """
    _x509()
    from cryptography.exceptions import InvalidSignature

    try:
        first, authorities = _first(certificates), _x509().load_pem_x509_certificates(authority)
    except ValueError:
        return False
    for each in authorities:
        with suppress(ValueError, TypeError, InvalidSignature):
            first.verify_directly_issued_by(each)
            return True
    return False


def first_of(certificates: bytes) -> bytes:
    """
    The first of one or more certificates, in PEM, without the others.

    :raises ValueError: if there is no certificate
    :raises CertificatesUnavailable: if `cryptography` is not installed
    """
    first = _first(certificates)
    from cryptography.hazmat.primitives.serialization import Encoding

    pem: bytes = first.public_bytes(Encoding.PEM)
    return pem


def _x509() -> Any:
    try:
        from cryptography import x509
    except ImportError as error:
        raise CertificatesUnavailable(
            "certificates are made with the package `cryptography`: pip install 'kinformer[tls]'"
        ) from error
    return x509


def _first(certificates: bytes) -> Any:
    found = _x509().load_pem_x509_certificates(certificates)
    if not found:
        raise ValueError("there is no certificate")
    return found[0]


def _new_key() -> Any:
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.generate_private_key(ec.SECP256R1())


def _name_of(x509: Any, name: str, organizations: Sequence[str] = ()) -> Any:
    parts = [x509.NameAttribute(x509.NameOID.ORGANIZATION_NAME, one) for one in organizations]
    return x509.Name([*parts, x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])


def _host(x509: Any, host: str) -> Any:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _builder(x509: Any, subject: Any, issuer: Any, key: Any, issuers_key: Any, now: datetime, life: timedelta) -> Any:
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key)
    builder = builder.serial_number(x509.random_serial_number())
    # RFC 5280 requires both in all certificates of a chain, and Python checks that from 3.13 on.
    builder = builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    issuers = x509.AuthorityKeyIdentifier.from_issuer_public_key(issuers_key)
    builder = builder.add_extension(issuers, critical=False)
    return builder.not_valid_before(now - _BEHIND).not_valid_after(now + life)


def _usage(x509: Any, *, signs_certificates: bool) -> Any:
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


def _signed(builder: Any, signing_key: Any, key: Any) -> KeyPair:
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    made = builder.sign(signing_key, hashes.SHA256())
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return KeyPair(made.public_bytes(Encoding.PEM), private)
