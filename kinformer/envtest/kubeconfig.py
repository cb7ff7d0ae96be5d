"""The kubeconfig of an embedded server, for clients that read one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ("kubeconfig_of",)

_NAME = "kinformer"


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
