"""What clients of an embedded server show to be let in: a kubeconfig, or the token of a service account."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from kinformer.client import Client

__all__ = ("kubeconfig_of", "service_account_token")

_NAME = "kinformer"
#: Seconds: longer than the time by which any test turns its clock.
_FOR_EVER: Final = 4_000_000_000


def kubeconfig_of(url: str, user: Mapping[str, str], *, authority: str = "") -> dict[str, Any]:
    """
    A kubeconfig with one context, for one server and one user.

    :param url: the URL of the server
    :param user: the credentials of the user, in the form of the file
    :param authority: the certificate of the server's CA, in base64; empty without TLS
    """
    trust = {"certificate-authority-data": authority} if authority else {}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": _NAME, "cluster": {"server": url, **trust}}],
        "users": [{"name": _NAME, "user": dict(user)}],
        "contexts": [{"name": _NAME, "context": {"cluster": _NAME, "user": _NAME, "namespace": "default"}}],
        "current-context": _NAME,
    }


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
