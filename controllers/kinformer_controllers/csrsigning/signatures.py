"""Checking that a request was signed with its own key, and that key and signature are of types that Go accepts.

The types are those of Go's ``crypto/x509``: RSA keys of at least 1024 bits, ECDSA keys on NIST's curves, Ed25519. SHA-1
is accepted, because the signature only shows that the sender has the key. MD5, SHA-224 and SHA-3 are not.
"""

from __future__ import annotations

from typing import Any, Final

from kinformer_controllers.shared.certificates.requests import CertificateRequest

__all__ = ("signature_problem",)

_SMALLEST_RSA_KEY: Final = 1024
_LARGEST_RSA_EXPONENT: Final = 2**31 - 1
_CURVES: Final = ("secp224r1", "secp256r1", "secp384r1", "secp521r1")
#: The signatures that Go accepts, by their object identifiers, and the hash of each.
_OF_RSA: Final = {
    "1.2.840.113549.1.1.5": "SHA1",
    "1.3.14.3.2.29": "SHA1",
    "1.2.840.113549.1.1.11": "SHA256",
    "1.2.840.113549.1.1.12": "SHA384",
    "1.2.840.113549.1.1.13": "SHA512",
}
_OF_ECDSA: Final = {
    "1.2.840.10045.4.1": "SHA1",
    "1.2.840.10045.4.3.2": "SHA256",
    "1.2.840.10045.4.3.3": "SHA384",
    "1.2.840.10045.4.3.4": "SHA512",
}
_PSS: Final = "1.2.840.113549.1.1.10"
_OF_PSS: Final = ("sha256", "sha384", "sha512")
_ED25519: Final = "1.3.101.112"
_NOT_VERIFIED: Final = "unable to verify certificate request signature"


def signature_problem(request: CertificateRequest) -> str:
    """Return why a request's key or its signature is not accepted; ``""`` if both are."""
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm

    try:
        key = request.x509.public_key()
        if problem := _key_problem(key):
            return f"{_NOT_VERIFIED}: {problem}"
        _verify(request, key)
    except InvalidSignature:
        return _NOT_VERIFIED
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        return f"{_NOT_VERIFIED}: {error}"
    return ""


def _key_problem(key: Any) -> str:
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

    if isinstance(key, rsa.RSAPublicKey):
        numbers = key.public_numbers()
        if key.key_size < _SMALLEST_RSA_KEY:
            return f"an RSA key of {key.key_size} bits is too short: want at least {_SMALLEST_RSA_KEY}"
        if not numbers.n % 2 or not numbers.e % 2 or not 2 < numbers.e <= _LARGEST_RSA_EXPONENT:
            return "the modulus or the exponent of the RSA key is not allowed"
        return ""
    if isinstance(key, ec.EllipticCurvePublicKey):
        return "" if key.curve.name in _CURVES else f"the curve {key.curve.name} is not supported"
    return "" if isinstance(key, ed25519.Ed25519PublicKey) else f"a {type(key).__name__} is not supported"


def _verify(request: CertificateRequest, key: Any) -> None:
    """
    :raises InvalidSignature: if the signature is not the key's
    :raises ValueError: if the type of the signature is not accepted, or is not that of the key
    """
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa

    signed, signature = request.x509.tbs_certrequest_bytes, request.x509.signature
    oid = request.x509.signature_algorithm_oid.dotted_string
    if isinstance(key, rsa.RSAPublicKey) and oid in _OF_RSA:
        key.verify(signature, signed, padding.PKCS1v15(), getattr(hashes, _OF_RSA[oid])())
    elif isinstance(key, rsa.RSAPublicKey) and oid == _PSS and request.x509.signature_hash_algorithm.name in _OF_PSS:
        # Go accepts PSS in this form alone: the same hash throughout, and a salt of its length.
        digest = request.x509.signature_hash_algorithm
        key.verify(signature, signed, padding.PSS(padding.MGF1(digest), digest.digest_size), digest)
    elif isinstance(key, ec.EllipticCurvePublicKey) and oid in _OF_ECDSA:
        key.verify(signature, signed, ec.ECDSA(getattr(hashes, _OF_ECDSA[oid])()))
    elif isinstance(key, ed25519.Ed25519PublicKey) and oid == _ED25519:
        key.verify(signature, signed)
    else:
        raise ValueError(f"a signature of the type {oid} is not supported for a {type(key).__name__}")
