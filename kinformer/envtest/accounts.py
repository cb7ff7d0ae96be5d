"""Tokens of service accounts: for tests in which an operator has the rights of its manifest, and no others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kinformer.client import Client

__all__ = ("service_account_token",)

#: Seconds: longer than any test turns its clock.
_FOR_EVER: Final = 4_000_000_000


async def service_account_token(client: Client, namespace: str, name: str) -> str:
    """
    A token by which a server knows somebody as a service account, as ``kubectl create token`` gets one.

    :param client: has to be allowed to make tokens, as the one of a test server is
    :return: for ``connect(url=…, token=…)``. It lasts longer than the time that a test turns a clock by
    :raises NotFound: if there is no such service account
    """
    from kinformer.models import AuthenticationV1TokenRequest, V1ServiceAccount

    asked = {"spec": {"expirationSeconds": _FOR_EVER}}
    accounts = client.resource(V1ServiceAccount)
    made = await accounts.subresource("token", AuthenticationV1TokenRequest).create(name, asked, namespace)
    assert made.status is not None
    assert made.status.token
    return made.status.token
