"""Converting the usages of a CertificateSigningRequest to X.509 extensions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

__all__ = ("extended_key_usages", "key_usages")

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
