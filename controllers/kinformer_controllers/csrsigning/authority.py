"""A certificate authority (CA) from two files, which are read again when they change; and what it signs.

In: the files of a CA certificate and its key, and requests. Out: certificates in PEM. Promised: a certificate has the
names that were read from the request, the usages that were asked for, and no other extension; it is never a CA
certificate; it does not expire later than the CA's certificate. If changed files cannot be read, because they are being
written, the CA keeps its certificate and key.

Nothing is copied from a request: only the attributes and the kinds of names that Go's ``crypto/x509`` knows go into a
certificate, in its order and in its encoding. So a request cannot smuggle in a second common name, an attribute or a
directory name that no rule has looked at.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

import anyio.to_thread

from kinformer.certificates import load_private_key
from kinformer.logs import get_logger
from kinformer.manager import SyncError
from kinformer.options import OptionError
from kinformer_controllers.csrsigning.signatures import signature_problem
from kinformer_controllers.csrsigning.spec import SignerFiles
from kinformer_controllers.shared.certificates.pkcs10 import DNS, EMAIL, IP, SEQUENCE, SET, URI, element, identifier
from kinformer_controllers.shared.certificates.requests import COMMON_NAME, ORGANIZATION, CertificateRequest

__all__ = (
    "CertificateAuthority",
    "RequestRefused",
    "SigningError",
    "extended_key_usages",
    "key_usages",
)

log = get_logger(__name__)

_SERIAL_NUMBER: Final = identifier("2.5.4.5")
#: In the order in which Go writes them: country, province, locality, street, postal code, organization, unit, common
#: name, serial number.
_ATTRIBUTES: Final = (
    *(identifier(f"2.5.4.{number}") for number in (6, 8, 7, 9, 17)),
    ORGANIZATION,
    identifier("2.5.4.11"),
    COMMON_NAME,
    _SERIAL_NUMBER,
)
#: A certificate has one of each. If a request has more, the last one counts; an empty one is left out.
_SINGLE: Final = (COMMON_NAME, _SERIAL_NUMBER)
_PRINTABLE: Final = re.compile(r"[A-Za-z0-9 '()+,\-./:=?]*").fullmatch
_PRINTABLE_STRING, _UTF8_STRING = 0x13, 0x0C

_KEY: Final = {
    "signing": "digital_signature",
    "digital signature": "digital_signature",
    "content commitment": "content_commitment",
    "key encipherment": "key_encipherment",
    "key agreement": "key_agreement",
    "data encipherment": "data_encipherment",
    "cert sign": "key_cert_sign",
    "crl sign": "crl_sign",
    "encipher only": "encipher_only",
    "decipher only": "decipher_only",
}
_KEY_FIELDS: Final = (
    "digital_signature",
    "content_commitment",
    "key_encipherment",
    "data_encipherment",
    "key_agreement",
    "key_cert_sign",
    "crl_sign",
    "encipher_only",
    "decipher_only",
)
#: In the order of Go's constants. Certificates have the usages in this order.
_EXTENDED: Final = {
    "any": "2.5.29.37.0",
    "server auth": "1.3.6.1.5.5.7.3.1",
    "client auth": "1.3.6.1.5.5.7.3.2",
    "code signing": "1.3.6.1.5.5.7.3.3",
    "email protection": "1.3.6.1.5.5.7.3.4",
    "s/mime": "1.3.6.1.5.5.7.3.4",
    "ipsec end system": "1.3.6.1.5.5.7.3.5",
    "ipsec tunnel": "1.3.6.1.5.5.7.3.6",
    "ipsec user": "1.3.6.1.5.5.7.3.7",
    "timestamping": "1.3.6.1.5.5.7.3.8",
    "ocsp signing": "1.3.6.1.5.5.7.3.9",
    "microsoft sgc": "1.3.6.1.4.1.311.10.3.3",
    "netscape sgc": "2.16.840.1.113730.4.1",
}

#: A certificate is valid from this long before it is made, because clocks differ.
BACKDATE: Final = timedelta(minutes=5)
#: A certificate with a shorter life than this is not shortened by the backdating.
SHORT: Final = timedelta(hours=8)


def _subject_of(request: CertificateRequest) -> bytes:
    """Return the subject of a request's certificate, in DER."""
    relatives = []
    for attribute in _ATTRIBUTES:
        # The same value twice says no more than once, and `cryptography` refuses it.
        values = dict.fromkeys(request.pkcs10.texts_of(attribute))
        if attribute in _SINGLE:
            values = dict.fromkeys([text for text in [*request.pkcs10.texts_of(attribute)][-1:] if text])
        if values:
            # DER sorts the elements of a set by their bytes.
            relatives.append(element(SET, *sorted(element(SEQUENCE, attribute, _der_text(value)) for value in values)))
    return element(SEQUENCE, *relatives)


def _alternative_names(x509: Any, request: CertificateRequest) -> Any:
    """Return the extension with the alternative names of a request's certificate; None if there are no names."""
    names = [name.raw for tag in (DNS, EMAIL, IP, URI) for name in request.pkcs10.names if name.tag == tag]
    if not names:
        return None
    # `cryptography` would refuse some addresses that Go passes on. So the extension is given to it as bytes.
    return x509.UnrecognizedExtension(x509.ExtensionOID.SUBJECT_ALTERNATIVE_NAME, element(SEQUENCE, *names))


def _der_text(value: str) -> bytes:
    if _PRINTABLE(value):
        return element(_PRINTABLE_STRING, value.encode("ascii"))
    return element(_UTF8_STRING, value.encode())


def key_usages(usages: Iterable[str]) -> Any:
    """Return the KeyUsage extension for the usages that belong there; None if none does."""
    from cryptography import x509

    asked = {_KEY[usage] for usage in usages if usage in _KEY}
    if not asked:
        return None
    flags = {field: field in asked for field in _KEY_FIELDS}
    # X.509 allows these two only together with key agreement.
    if not flags["key_agreement"]:
        flags["encipher_only"] = flags["decipher_only"] = False
    return x509.KeyUsage(**flags)


def extended_key_usages(usages: Iterable[str]) -> list[Any]:
    """Return the purposes for the ExtendedKeyUsage extension, without duplicates; empty if no usage belongs there."""
    from cryptography import x509

    asked = set(usages)
    found = dict.fromkeys(oid for usage, oid in _EXTENDED.items() if usage in asked)
    return [x509.ObjectIdentifier(oid) for oid in found]


class SigningError(SyncError):
    """A certificate cannot be signed now."""


class RequestRefused(SigningError):
    """A request can never be signed, because of what is in it."""


class _Loaded(NamedTuple):
    """The certificate and the key, and the states of the files from which they were read."""

    stamps: tuple[tuple[int, int, int], ...]
    certificate: Any
    key: Any


class CertificateAuthority:
    """
    Signs requests with one CA certificate.

    :raises OptionError: if a file cannot be read, has no certificate or key, or if the key is not the certificate's
    :raises ImportError: if the package ``cryptography`` is not installed
    """

    def __init__(self, files: SignerFiles) -> None:
        self._files = files
        try:
            self._loaded = _load(files)
        except (OSError, ValueError, TypeError) as error:
            raise OptionError(f"certificate authority {files.certificate}, {files.key}: {_text(error)}") from error

    async def refresh(self) -> None:
        """Read the files again if they have changed."""
        try:
            # Reading the files' times takes some microseconds. Keys are read in a thread, because that takes longer.
            if _stamps(self._files) != self._loaded.stamps:
                self._loaded = await anyio.to_thread.run_sync(_load, self._files)
                log.info("authority_reloaded", certificate=self._files.certificate)
        except (OSError, ValueError, TypeError) as error:
            log.error("authority_not_reloaded", certificate=self._files.certificate, error=_text(error))

    def sign(self, request: CertificateRequest, usages: Iterable[str], life: timedelta, now: datetime) -> bytes:
        """
        Return the certificate for a request, in PEM.

        :param life: how long it is valid
        :raises RequestRefused: if a usage is unknown, or the request's key or signature is not accepted
        :raises SigningError: if the CA has expired
        """
        from cryptography import x509
        from cryptography.hazmat.primitives import serialization

        issuer, key = self._loaded.certificate, self._loaded.key
        usages = list(usages)
        if problem := signature_problem(request):
            raise RequestRefused(problem)
        ends = issuer.not_valid_after_utc
        if now >= ends:
            raise SigningError(f"the signer has expired: NotAfter={ends}")
        subject = _name(x509, request, _subject_of(request))
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer.subject)
            .public_key(request.x509.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - BACKDATE)
            .not_valid_after(min(now + (life if life < SHORT else life - BACKDATE), ends))
        )
        for extension, critical in _extensions(x509, request, usages, issuer, subject):
            builder = builder.add_extension(extension, critical=critical)
        signed: bytes = builder.sign(key, _hash_for(key)).public_bytes(serialization.Encoding.PEM)
        return signed


def _name(x509: Any, request: CertificateRequest, subject: bytes) -> Any:
    """
    Return a subject in DER as an object of ``cryptography``.

    Its own constructors refuse common names of more than 64 characters, which nodes with long names have. So the
    subject is put into a request, and read from there.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Attribute's length", UserWarning)
        return x509.load_der_x509_csr(request.pkcs10.with_subject(subject)).subject


def _extensions(
    x509: Any, request: CertificateRequest, usages: list[str], issuer: Any, subject: Any
) -> Iterable[tuple[Any, bool]]:
    """Return the extensions of a certificate, and whether each is critical. The order is the same as in Go."""
    unknown = [usage for usage in usages if key_usages([usage]) is None and not extended_key_usages([usage])]
    if unknown:
        raise RequestRefused(f"unrecognized usage values: {unknown}")
    if (key_usage := key_usages(usages)) is not None:
        yield key_usage, True
    if extended := extended_key_usages(usages):
        yield x509.ExtendedKeyUsage(extended), False
    yield x509.BasicConstraints(ca=False, path_length=None), True
    try:
        own = issuer.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
        if subject != issuer.subject:
            yield x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(own), False
    except x509.ExtensionNotFound:
        pass
    if (names := _alternative_names(x509, request)) is not None:
        # Without a subject, these names alone identify the certificate's holder, so they are critical (RFC 5280,
        # 4.2.1.6).
        yield names, not subject.rdns


def _hash_for(key: Any) -> Any:
    """Return the hash that Go uses for a key: by the curve for ECDSA, SHA-256 for RSA, none for Ed25519."""
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519

    if isinstance(key, ed25519.Ed25519PrivateKey):
        return None
    if isinstance(key, ec.EllipticCurvePrivateKey):
        return {384: hashes.SHA384(), 521: hashes.SHA512()}.get(key.key_size, hashes.SHA256())
    return hashes.SHA256()


def _load(files: SignerFiles) -> _Loaded:
    try:
        from cryptography import x509
        from cryptography.hazmat.primitives import serialization
    except ImportError as error:
        raise ImportError("certificates need the package `cryptography`: pip install 'kinformer[signing]'") from error
    stamps = _stamps(files)
    certificates = x509.load_pem_x509_certificates(Path(files.certificate).read_bytes())
    if len(certificates) != 1:
        raise ValueError(f"want 1 certificate, found {len(certificates)}")
    key = load_private_key(Path(files.key).read_bytes())
    form = serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    if key.public_key().public_bytes(*form) != certificates[0].public_key().public_bytes(*form):
        raise ValueError("the key is not the certificate's")
    return _Loaded(stamps, certificates[0], key)


def _stamps(files: SignerFiles) -> tuple[tuple[int, int, int], ...]:
    # The inode is included because the kubelet changes a mounted Secret by exchanging a symbolic link.
    return tuple((found.st_ino, found.st_mtime_ns, found.st_size) for found in map(os.stat, files))


def _text(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
