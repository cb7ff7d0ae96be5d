"""Requests that no library would make, written byte by byte."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any, Final

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from kinformer_controllers.shared.certificates.pkcs10 import OCTET_STRING, SEQUENCE, SET, element, identifier

__all__ = ("SHORT_RSA_KEY", "by", "der_name", "der_request", "extension_request")

_KEY: Final = ec.generate_private_key(ec.SECP256R1())
#: 512 bits, which `cryptography` does not make any more.
SHORT_RSA_KEY: Final = (
    "MIIBVQIBADANBgkqhkiG9w0BAQEFAASCAT8wggE7AgEAAkEA5CPRqCAvLgMRSMZyLiW1FeMjMJS4tdoq2g9g4iTcS6IfA6K90w/u"
    "79vzPn+ZJAT+yJ+49WyxieQuaQwimtaryQIDAQABAkAtgFNdc+XVCHmXCTVWrOCcF+w50T+xzWyEh1KsZ+ukDbYbHAn12U2QSCzi"
    "/rbE0SNsjuhd1O28Nl0VaovwZD0BAiEA/euCH7pH/vRIxELSJgn9f49c38gIsprGyoo0fBF3geECIQDmAj9sh0vCHzmx3l246bvQ"
    "gj/LZPLNESb2KF98zSw26QIgKrk8nMAIKyLJN5SSrWnS6Gqj0tdid0LJnfyhFhsOQ6ECIQCI1C981aPI0KCW4ozoswtKyCFBU0Vp"
    "ntmJuIzNhpTV+QIhAKN8fKd91mlcVAo37WmzTuuYFuxTmvw18J23+Y4/w64g"
)


def by(key: Any, *how: Any) -> Callable[[bytes], bytes]:
    """Sign with a key."""
    return lambda signed: bytes(key.sign(signed, *how))


def der_name(*attributes: tuple[str, int, bytes]) -> bytes:
    """A subject: object identifiers, and values with their tags."""
    pairs = [element(SEQUENCE, identifier(kind), element(tag, value)) for kind, tag, value in attributes]
    return element(SEQUENCE, *(element(SET, pair) for pair in pairs))


def extension_request(*names: bytes, attribute: str = "1.2.840.113549.1.9.14") -> bytes:
    """The attribute that asks for alternative names."""
    extension = element(SEQUENCE, identifier("2.5.29.17"), element(OCTET_STRING, element(SEQUENCE, *names)))
    return element(SEQUENCE, identifier(attribute), element(SET, element(SEQUENCE, extension)))


def der_request(
    subject: bytes,
    *attributes: bytes,
    key: Any = _KEY,
    algorithm: str = "1.2.840.10045.4.3.2",
    sign: Callable[[bytes], bytes] | None = None,
    version: int = 0,
) -> bytes:
    """A request in PEM, signed with its key."""
    public = key.public_key().public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    parameters = element(0x05) if algorithm.startswith("1.2.840.113549.1.1.") else b""
    signed = element(SEQUENCE, element(0x02, bytes((version,))), subject, public, element(0xA0, *sorted(attributes)))
    signature = (sign or by(key, ec.ECDSA(hashes.SHA256())))(signed)
    der = element(
        SEQUENCE, signed, element(SEQUENCE, identifier(algorithm), parameters), element(0x03, b"\0", signature)
    )
    kind = b"CERTIFICATE REQUEST-----\n"
    return b"-----BEGIN " + kind + base64.encodebytes(der) + b"-----END " + kind
