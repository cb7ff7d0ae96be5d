"""Filling a token Secret with the data that it lacks.

In: a Secret, its account, and a signer. Out: the Secret with complete data. Promised: existing data is kept; an
existing
token is never replaced, because it may be in use. Only changed CA certificates are replaced.
"""

from __future__ import annotations

import base64
import copy
from typing import Final

from kinformer.models import V1Secret, V1ServiceAccount
from kinformer_controllers.serviceaccounttoken.signing import TokenSigner
from kinformer_controllers.shared.identity.token_secrets import ACCOUNT_NAME, ACCOUNT_UID

__all__ = ("TokenFiller",)

_CA: Final = "ca.crt"
_NAMESPACE: Final = "namespace"
_TOKEN: Final = "token"


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
