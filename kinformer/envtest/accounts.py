"""Tokens of service accounts, for tests in which an operator has exactly the rights of its manifest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kinformer.client import Client

__all__ = ("service_account_token",)

#: Seconds: longer than the time by which any test turns its clock.
_FOR_EVER: Final = 4_000_000_000


async def service_account_token(client: Client, namespace: str, name: str) -> str:
    """
    Get a token of a service account, as ``kubectl create token`` does.

    :param client: it must be allowed to make tokens, as the client of a test server is
    :return: a token for ``connect(url=…, token=…)``. It does not expire in a test, even if the clock is turned
    :raises NotFound: if there is no such service account
    """
    from kinformer.models import AuthenticationV1TokenRequest, V1ServiceAccount

    asked = {"spec": {"expirationSeconds": _FOR_EVER}}
    accounts = client.resource(V1ServiceAccount)
    made = await accounts.subresource("token", AuthenticationV1TokenRequest).create(name, asked, namespace)
    assert made.status is not None
    assert made.status.token
    return made.status.token
