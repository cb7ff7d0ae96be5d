"""The subject and the alternative names of a certificate, made from what was read of its request.

Nothing is copied: only the attributes and the kinds of names that Go's ``crypto/x509`` knows go into a certificate, in
its order and in its encoding. So a request cannot smuggle in a second common name, an attribute or a directory name
that no rule has looked at.
"""

from __future__ import annotations

import re
from typing import Any, Final

from kinformer_controllers.shared.certificates.der import SEQUENCE, SET, element, identifier
from kinformer_controllers.shared.certificates.pkcs10 import DNS, EMAIL, IP, URI
from kinformer_controllers.shared.certificates.requests import COMMON_NAME, ORGANIZATION, CertificateRequest

__all__ = ("alternative_names", "subject_of")

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


def subject_of(request: CertificateRequest) -> bytes:
    """Return the subject of a request's certificate, in DER."""
    relatives = []
    for attribute in _ATTRIBUTES:
        # The same value twice says no more than once, and `cryptography` refuses it.
        values = dict.fromkeys(request.pkcs10.texts_of(attribute))
        if attribute in _SINGLE:
            values = dict.fromkeys([text for text in [*request.pkcs10.texts_of(attribute)][-1:] if text])
        if values:
            # DER sorts the elements of a set by their bytes.
            relatives.append(element(SET, *sorted(element(SEQUENCE, attribute, _text(value)) for value in values)))
    return element(SEQUENCE, *relatives)


def alternative_names(x509: Any, request: CertificateRequest) -> Any:
    """Return the extension with the alternative names of a request's certificate; None if there are no names."""
    names = [name.raw for tag in (DNS, EMAIL, IP, URI) for name in request.pkcs10.names if name.tag == tag]
    if not names:
        return None
    # `cryptography` would refuse some addresses that Go passes on. So the extension is given to it as bytes.
    return x509.UnrecognizedExtension(x509.ExtensionOID.SUBJECT_ALTERNATIVE_NAME, element(SEQUENCE, *names))


def _text(value: str) -> bytes:
    if _PRINTABLE(value):
        return element(_PRINTABLE_STRING, value.encode("ascii"))
    return element(_UTF8_STRING, value.encode())
