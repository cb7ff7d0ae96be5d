"""The tokens of service accounts: JSON Web Tokens that do not expire, and the Secrets that get them.

In: a private key in PEM, an account, and its Secret. Out: the Secret with the token. The token's header has the hash of
the public key, so that a server with several keys finds the right one. RSA keys sign with RS256; ECDSA keys with ES256,
ES384 or ES512, by their curve. The claims are those of Kubernetes' "legacy" tokens.
"""

from __future__ import annotations

import base64
import copy
import hashlib
from pathlib import Path
from typing import Final

from kinformer.certificates import load_private_key
from kinformer.models import V1Secret, V1ServiceAccount
from kinformer.options import OptionError
from kinformer_controllers.shared.identity import ACCOUNT_NAME, ACCOUNT_UID

__all__ = (
    "TokenFiller",
    "TokenSigner",
    "load_signer",
)

_ISSUER: Final = "kubernetes/serviceaccount"
_PREFIX: Final = "kubernetes.io/serviceaccount"
_BY_CURVE: Final = {"secp256r1": "ES256", "secp384r1": "ES384", "secp521r1": "ES512"}
_INSTALL: Final = "tokens need the packages `cryptography` and `pyjwt`: pip install 'kinformer[signing]'"

_CA: Final = "ca.crt"
_NAMESPACE: Final = "namespace"
_TOKEN: Final = "token"


class TokenSigner:
    """
    Signs tokens with one key.

    :param pem: an RSA or ECDSA private key
    :raises ValueError: if it is not a private key, or JSON Web Tokens do not support its curve
    :raises TypeError: if it is a key of another type, or has a password
    :raises ImportError: if the packages ``cryptography`` and ``pyjwt`` are not installed
    """

    def __init__(self, pem: bytes) -> None:
        try:
            import jwt
            from cryptography.hazmat.primitives import serialization
            from cryptography.hazmat.primitives.asymmetric import ec, rsa
        except ImportError as error:
            raise ImportError(_INSTALL) from error
        key = load_private_key(pem)
        if isinstance(key, rsa.RSAPrivateKey):
            self._algorithm = "RS256"
        elif isinstance(key, ec.EllipticCurvePrivateKey):
            if key.curve.name not in _BY_CURVE:
                raise ValueError(f"its curve is {key.curve.name}: want one of {', '.join(_BY_CURVE)}")
            self._algorithm = _BY_CURVE[key.curve.name]
        else:
            raise TypeError(f"it is a {type(key).__name__}: want an RSA or ECDSA key")
        self._key = key
        public = key.public_key().public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        self._key_id = base64.urlsafe_b64encode(hashlib.sha256(public).digest()).rstrip(b"=").decode()
        self._encode = jwt.encode

    def token(self, account: V1ServiceAccount, secret_name: str) -> str:
        """Return the token of an account, for the Secret with that name in its namespace."""
        meta = account.metadata
        claims = {
            "iss": _ISSUER,
            f"{_PREFIX}/namespace": meta.namespace,
            f"{_PREFIX}/secret.name": secret_name,
            f"{_PREFIX}/service-account.name": meta.name,
            f"{_PREFIX}/service-account.uid": meta.uid,
            "sub": f"system:serviceaccount:{meta.namespace}:{meta.name}",
        }
        # Kubernetes' tokens have no type in the header.
        return self._encode(claims, self._key, self._algorithm, {"kid": self._key_id, "typ": None})


def load_signer(file: str) -> TokenSigner:
    """
    Make a signer with the key in a file.

    :raises OptionError: if the file cannot be read, or has no key that can sign tokens
    """
    try:
        return TokenSigner(Path(file).read_bytes())
    except OSError as error:
        raise OptionError(f"--service-account-private-key-file {file}: {error.strerror or error}") from error
    except (ValueError, TypeError) as error:
        raise OptionError(f"--service-account-private-key-file {file}: {error}") from error


class TokenFiller:
    """
    Fills Secrets.

    :param signer: makes tokens
    :param authorities: the CA certificates that verify the API server, in PEM; empty for none
    """

    def __init__(self, signer: TokenSigner, authorities: bytes) -> None:
        self._signer = signer
        self._authorities = base64.b64encode(authorities).decode()

    def lacks(self, secret: V1Secret) -> bool:
        """Whether a Secret lacks data."""
        data = secret.data or {}
        return self._lacks_ca(data) or not data.get(_NAMESPACE) or not data.get(_TOKEN)

    def filled(self, secret: V1Secret, account: V1ServiceAccount) -> V1Secret:
        """Return a copy of a Secret with complete data."""
        data = dict(secret.data or {})
        if self._lacks_ca(data):
            data[_CA] = self._authorities
        if not data.get(_NAMESPACE):
            data[_NAMESPACE] = _base64(secret.metadata.namespace)
        if not data.get(_TOKEN):
            data[_TOKEN] = _base64(self._signer.token(account, secret.metadata.name))
        filled = copy.copy(secret)
        filled.data = data
        filled.metadata = copy.copy(secret.metadata)
        filled.metadata.annotations = {
            **(secret.metadata.annotations or {}),
            ACCOUNT_NAME: account.metadata.name,
            ACCOUNT_UID: account.metadata.uid,
        }
        return filled

    def _lacks_ca(self, data: dict[str, str]) -> bool:
        return bool(self._authorities) and data.get(_CA) != self._authorities


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
