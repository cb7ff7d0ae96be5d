"""The flags of the manager's endpoint, with the names of kube-controller-manager and controller-runtime."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kinformer.cli.groups import FlagGroup, duration_flag, flag, names_flag, path_flag, switch

if TYPE_CHECKING:
    from contextlib import AsyncExitStack

    from kinformer.client import Client
    from kinformer.manager import SecureServing
    from kinformer.manager.serving import ServerTls

__all__ = ("ServingFlags", "address_of", "secure_serving_of", "serving_with_reviewers")


@dataclass(frozen=True, slots=True)
class ServingFlags(FlagGroup):
    """The flags."""

    metrics_bind_address: str = flag(
        "",
        "The address for metrics, health checks and status pages. On a loopback address they are served over plain "
        "HTTP to everybody; on any other address over TLS, and the API server decides who may read them.",
        metavar="HOST:PORT",
    )
    metrics_secure: bool | None = switch(
        "Use TLS and access rules for --metrics-bind-address.  [on, except for loopback]", default=None
    )
    secure_port: int = flag(
        0,
        "The port for the same, always with TLS and access rules, as in kube-controller-manager. 0: off.",
        type=click.IntRange(0, 65535),
        show_default=True,
    )
    bind_address: str = flag("0.0.0.0", "The address for --secure-port.")
    tls_cert_file: Path | None = path_flag(
        "The serving certificate, in PEM. It is read again when it changes. If not given, a self-signed one is made."
    )
    tls_private_key_file: Path | None = path_flag("The private key of --tls-cert-file.")
    tls_min_version: str = flag(
        "VersionTLS12", "The oldest version of TLS, as Kubernetes writes it: VersionTLS12, VersionTLS13 …"
    )
    tls_cipher_suites: str = names_flag(
        "", "NAMES", "The cipher suites of TLS 1.2, by the names that Kubernetes has, with commas between.  [Python's]"
    )
    client_ca_file: Path | None = path_flag(
        "Authorities, in PEM. A client with a certificate of one of them is the user that it names."
    )
    authentication_kubeconfig: Path | None = path_flag(
        "The kubeconfig of the server that knows whose a token is.  [--kubeconfig]"
    )
    authentication_token_webhook_cache_ttl: float = duration_flag("10s", "How long it is remembered whose a token is.")
    authorization_kubeconfig: Path | None = path_flag(
        "The kubeconfig of the server that decides who may read what.  [--kubeconfig]"
    )
    authorization_always_allow_paths: str = names_flag(
        "/healthz,/readyz,/livez",
        "PATHS",
        "The paths that everybody may read, with commas between. A path that ends with * stands for all paths with "
        "this prefix.",
    )
    authorization_webhook_cache_authorized_ttl: float = duration_flag("10s", "How long a permission is remembered.")
    authorization_webhook_cache_unauthorized_ttl: float = duration_flag("10s", "How long a refusal is remembered.")


def address_of(flags: ServingFlags) -> tuple[str, int] | None:
    """
    The address of the endpoint; None if there is none.

    :raises OptionError: if the address is not valid, or two are given
    """
    from kinformer.manager import OptionError

    text = flags.metrics_bind_address
    if flags.secure_port:
        if text not in ("", "0"):
            raise OptionError("--metrics-bind-address and --secure-port are both given: want one of them")
        return flags.bind_address.strip("[]"), flags.secure_port
    if text in ("", "0"):  # "0" switches the endpoint off in controller-runtime
        return None
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise OptionError(f"--metrics-bind-address is {text!r}: want HOST:PORT or :PORT")
    return host.strip("[]") or "0.0.0.0", int(port)


def secure_serving_of(flags: ServingFlags) -> SecureServing | None:
    """
    The protection of the endpoint; None if it has none.

    :raises OptionError: if a certificate is given without its key, or a path is not valid
    """
    from kinformer.manager import OptionError, SecureServing
    from kinformer.manager.serving import KeptFor
    from kinformer.manager.serving.certificates import is_loopback

    if (flags.tls_cert_file is None) != (flags.tls_private_key_file is None):
        raise OptionError("--tls-cert-file and --tls-private-key-file go together: want both or neither")
    paths = [path.strip() for path in flags.authorization_always_allow_paths.split(",") if path.strip()]
    for path in paths:
        if not path.startswith("/") or "*" in path[:-1]:
            raise OptionError(f"--authorization-always-allow-paths has {path!r}: want /PATH, or /PATH/*")
    address = address_of(flags)
    if address is None:
        return None
    secure = flags.metrics_secure if not flags.secure_port else True
    if secure is None:
        secure = flags.tls_cert_file is not None or not is_loopback(address[0])
    if not secure:
        return None
    kept = KeptFor(
        flags.authentication_token_webhook_cache_ttl,
        flags.authorization_webhook_cache_authorized_ttl,
        flags.authorization_webhook_cache_unauthorized_ttl,
    )
    return SecureServing(flags.tls_cert_file, flags.tls_private_key_file, tuple(paths), tls=_tls_of(flags), kept=kept)


def _tls_of(flags: ServingFlags) -> ServerTls:
    from kinformer.manager import OptionError
    from kinformer.manager.serving.tls import VERSIONS, ServerTls, cipher_suites

    minimum = VERSIONS.get(flags.tls_min_version)
    if minimum is None:
        raise OptionError(f"--tls-min-version is {flags.tls_min_version!r}: want one of {', '.join(VERSIONS)}")
    try:
        ciphers = cipher_suites(filter(None, map(str.strip, flags.tls_cipher_suites.split(","))))
    except ValueError as error:
        raise OptionError(f"--tls-cipher-suites: {error}") from None
    return ServerTls(flags.client_ca_file, minimum, ciphers)


async def serving_with_reviewers(stack: AsyncExitStack, flags: ServingFlags) -> SecureServing | None:
    """
    The same as :func:`secure_serving_of`, with the clients for reviews that the flags name. The stack closes them.

    :raises ConfigError: if a kubeconfig cannot be read
    :raises OptionError: see :func:`secure_serving_of`
    """
    from kinformer.client import connect

    async def reviewer(kubeconfig: Path | None) -> Client | None:
        return None if kubeconfig is None else await stack.enter_async_context(connect(kubeconfig))

    secure = secure_serving_of(flags)
    return secure and replace(
        secure,
        authentication=await reviewer(flags.authentication_kubeconfig),
        authorization=await reviewer(flags.authorization_kubeconfig),
    )
