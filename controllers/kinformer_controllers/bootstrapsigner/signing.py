"""What the ConfigMap ``cluster-info`` has to say: a signature of its kubeconfig for each bootstrap token.

In: the data of the ConfigMap and the tokens that sign. Out: the data with their signatures. A node that joins knows one
token. With it, it checks that the kubeconfig is the one of its cluster.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Iterable, Mapping
from typing import Final

from kinformer_controllers.shared.identity.bootstrap_tokens import SigningToken

__all__ = ("KUBECONFIG", "detached_signature", "signed", "signers")

KUBECONFIG: Final = "kubeconfig"
_PREFIX: Final = "jws-kubeconfig-"


def signers(data: Mapping[str, str]) -> set[str]:
    """The ids of the tokens whose signatures are in the data."""
    return {key.removeprefix(_PREFIX) for key in data if key.startswith(_PREFIX)}


def signed(data: Mapping[str, str], tokens: Iterable[SigningToken], kept: Iterable[str] = ()) -> dict[str, str]:
    """
    The data with the signatures of these tokens. All other signatures are removed.

    :param kept: ids of tokens whose signatures stay as they are
    :raises KeyError: if there is no kubeconfig
    """
    content, staying = data[KUBECONFIG], {_PREFIX + one for one in kept}
    others = {key: value for key, value in data.items() if not key.startswith(_PREFIX) or key in staying}
    return others | {_PREFIX + token.id: detached_signature(content, token) for token in tokens}


def detached_signature(content: str, token: SigningToken) -> str:
    """Sign a text: a JSON Web Signature (HS256) without its middle part, which would be the text (RFC 7515, F)."""
    header = _base64(f'{{"alg":"HS256","kid":"{token.id}"}}'.encode())
    text = f"{header}.{_base64(content.encode())}"
    return f"{header}..{_base64(hmac.digest(token.secret, text.encode(), hashlib.sha256))}"


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
