"""Accounts: clients that act as a service account, with tokens that the API server issues for it.

In: the manager's own client, which may create service accounts and their tokens. Out: an endpoint for
:func:`~kinformer.client.connect`. The account is made if it is not there. A token is asked for before the first
request, again when a fifth of its time is left, and when the server refuses it. The rules are those of
kube-controller-manager's ``--use-service-account-credentials``.
"""

from __future__ import annotations

import ssl
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final

from kinformer.client.client import Client
from kinformer.client.config import Endpoint
from kinformer.client.credentials import Credentials, Identity
from kinformer.client.errors import AlreadyExists, ClientError, ConfigError, NotFound
from kinformer.client.impersonation import Impersonation
from kinformer.client.tls import TlsSource
from kinformer.logs import get_logger
from kinformer.models import (
    AuthenticationV1TokenRequest,
    V1Namespace,
    V1ObjectMeta,
    V1ServiceAccount,
    V1TokenRequestSpec,
    V1TokenRequestStatus,
)

__all__ = ("account_endpoint",)

log = get_logger(__name__)

#: Seconds for which a token is asked for, and the least that one counts as good for: the two clocks may differ.
_ASKED_FOR: Final = 3600
_AT_LEAST: Final = 600.0
#: The share of its time after which a token is replaced.
_USED: Final = 0.8
#: Seconds before each further try to get a token.
_PAUSES: Final = (0.5, 1.0, 2.0)


def account_endpoint(client: Client, namespace: str, name: str) -> Endpoint:
    """
    Make an endpoint of the same server, with the credentials of a service account.

    :param client: makes the account, and asks for its tokens. The endpoint is that of the same server
    :raises ConfigError: if the file with the server's authorities cannot be read
    """
    endpoint = client.endpoint
    tokens = _Tokens(client, endpoint.trust, namespace, name)
    tls = tokens.context()
    credentials = Credentials(reload=tokens.read, clock=client.clock, identity=Identity("", tls), missing=True)
    source = f"service account {namespace}/{name}"
    return replace(endpoint, tls=tls, credentials=credentials, impersonation=Impersonation(), source=source)


@dataclass(eq=False, slots=True)
class _Tokens:
    """The tokens of one service account."""

    client: Client
    trust: TlsSource | None
    namespace: str
    name: str
    _header: str = field(default="", init=False)
    #: When the token has to be replaced, in the clock's monotonic time.
    _until: float = field(default=0.0, init=False)

    def context(self) -> ssl.SSLContext | None:
        return self.trust.context() if self.trust is not None else None

    async def read(self, refused: bool) -> Identity:
        """
        The identity to send requests with.

        :param refused: ask for another token, even if this one has not expired
        :raises ConfigError: if the server gives no token
        """
        clock = self.client.clock
        if refused or not self._header or clock.monotonic() >= self._until:
            status, left = await self._new_token(), _AT_LEAST
            if status.expiration_timestamp is not None:
                left = max((status.expiration_timestamp - clock.now()).total_seconds(), left)
            self._header, self._until = f"Bearer {status.token}", clock.monotonic() + left * _USED
        return Identity(self._header, self.context(), self._until - clock.monotonic())

    async def _new_token(self) -> V1TokenRequestStatus:
        accounts = self.client.resource(V1ServiceAccount)
        tokens = accounts.subresource("token", AuthenticationV1TokenRequest)
        asked = AuthenticationV1TokenRequest(
            metadata=V1ObjectMeta(), spec=V1TokenRequestSpec(audiences=[], expiration_seconds=_ASKED_FOR)
        )
        for pause in (*_PAUSES, None):
            try:
                await self._ensure_account()
                status = (await tokens.create(self.name, asked, self.namespace)).status
                if status is not None:
                    return status
                problem = "the server's answer has no token"
            except ClientError as error:
                problem = str(error)
            log.warning("token_not_issued", account=f"{self.namespace}/{self.name}", error=problem)
            if pause is not None:
                await self.client.clock.sleep(pause)
        raise ConfigError(f"service account {self.namespace}/{self.name} got no token: {problem}")

    async def _ensure_account(self) -> None:
        accounts, namespaces = self.client.resource(V1ServiceAccount), self.client.resource(V1Namespace)
        with suppress(NotFound):
            await accounts.get(self.name, self.namespace)
            return
        # The manager may lack the permission to read or to make namespaces. Then the next request says what is wrong.
        with suppress(ClientError):
            try:
                await namespaces.get(self.namespace)
            except NotFound:
                await namespaces.create(V1Namespace(metadata=V1ObjectMeta(name=self.namespace)))
        with suppress(AlreadyExists):
            meta = V1ObjectMeta(name=self.name, namespace=self.namespace)
            await accounts.create(V1ServiceAccount(metadata=meta), self.namespace)
