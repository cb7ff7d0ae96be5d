"""The bootstrap signer: keeps the signatures in the ConfigMap ``cluster-info`` of the namespace ``kube-public``.

In: that ConfigMap, and the bootstrap tokens in ``kube-system``. Out: a signature of the kubeconfig in it for each token
that may sign. A node that joins knows one token. With it, it checks that the kubeconfig is the one of its cluster.
Promised: a signature whose token the cache does not have is removed only after the server was asked for the token.
"""

from __future__ import annotations

import base64
import copy
import hashlib
import hmac
from collections.abc import Iterable, Mapping
from typing import Any, Final

from kinformer.cache import NAMESPACE_INDEX
from kinformer.client.errors import NotFound
from kinformer.manager import Controller, ControllerContext
from kinformer.models import V1ConfigMap, V1Secret
from kinformer_controllers.shared.identity import NAMESPACE, SigningToken, is_bootstrap_token, signing_token, token_name

__all__ = (
    "BootstrapSigner",
    "detached_signature",
)

_KUBECONFIG: Final = "kubeconfig"
_PREFIX: Final = "jws-kubeconfig-"

_CONFIG_MAP: Final = "kube-public/cluster-info"


def _signers(data: Mapping[str, str]) -> set[str]:
    """The ids of the tokens whose signatures are in the data."""
    return {key.removeprefix(_PREFIX) for key in data if key.startswith(_PREFIX)}


def _signed(data: Mapping[str, str], tokens: Iterable[SigningToken], kept: Iterable[str] = ()) -> dict[str, str]:
    """
    The data with the signatures of these tokens. All other signatures are removed.

    :param kept: ids of tokens whose signatures stay as they are
    :raises KeyError: if there is no kubeconfig
    """
    content, staying = data[_KUBECONFIG], {_PREFIX + one for one in kept}
    others = {key: value for key, value in data.items() if not key.startswith(_PREFIX) or key in staying}
    return others | {_PREFIX + token.id: detached_signature(content, token) for token in tokens}


def detached_signature(content: str, token: SigningToken) -> str:
    """Sign a text: a JSON Web Signature (HS256) without its middle part, which would be the text (RFC 7515, F)."""
    header = _base64(f'{{"alg":"HS256","kid":"{token.id}"}}'.encode())
    text = f"{header}.{_base64(content.encode())}"
    return f"{header}..{_base64(hmac.digest(token.secret, text.encode(), hashlib.sha256))}"


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class BootstrapSigner:
    """Syncs one ConfigMap."""

    def __init__(self, context: ControllerContext) -> None:
        config_maps, secrets = context.informers.informer_for(V1ConfigMap), context.informers.informer_for(V1Secret)
        self._config_maps, self._secrets = config_maps.indexer, secrets.indexer
        self._server, self._secret_server = context.client.resource(V1ConfigMap), context.client.resource(V1Secret)
        self._clock = context.clock
        self.controller = Controller(
            "bootstrap-signer", self.sync, queue_name="bootstrap_signer_queue", clock=context.clock
        )
        self.controller.watch(config_maps, _is_cluster_info)
        self.controller.watch_mapped(secrets, lambda _: (_CONFIG_MAP,), _is_token)

    async def sync(self, key: str) -> None:
        """
        Bring the signatures up to date.

        :raises ClientError: if the server refuses the write
        """
        config_map = self._config_maps.get_by_key(_CONFIG_MAP)
        data = (config_map.data if config_map is not None else None) or {}
        if config_map is None or _KUBECONFIG not in data:
            return
        now = self._clock.now()
        cached = [secret for secret in self._secrets.by_index(NAMESPACE_INDEX, NAMESPACE) if is_bootstrap_token(secret)]
        tokens = [token for secret in cached if (token := signing_token(secret, now)) is not None]
        names = {secret.metadata.name for secret in cached}
        unknown = {one for one in _signers(data) if token_name(one) not in names}
        kept = [one for one in sorted(unknown) if await self._is_there(one)]
        wanted = _signed(data, tokens, kept)
        if wanted == data:
            return
        written = copy.copy(config_map)
        written.data = wanted
        try:
            await self._server.update(written)
        except NotFound:
            return  # it is gone

    async def _is_there(self, token_id: str) -> bool:
        """Whether the server has a token that the cache lacks. The cache will show it soon, and then it decides."""
        try:
            secret = await self._secret_server.get(token_name(token_id), NAMESPACE)
        except NotFound:
            return False
        return is_bootstrap_token(secret) and signing_token(secret, self._clock.now()) is not None


def _is_cluster_info(old: Any, new: Any) -> bool:
    return new is not None and f"{new.metadata.namespace}/{new.metadata.name}" == _CONFIG_MAP


def _is_token(old: Any, new: Any) -> bool:
    return any(secret is not None and is_bootstrap_token(secret) for secret in (old, new))
