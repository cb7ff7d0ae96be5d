"""The flags of the manager's endpoint, in kube-controller-manager's and controller-runtime's spelling."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from kinformer.cli.flags import NAMES
from kinformer.cli.groups import FlagGroup, switch, with_flags

if TYPE_CHECKING:
    from kinformer.manager import SecureServing

__all__ = ("ServingFlags", "address_of", "secure_serving_of", "serving_flags")

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class ServingFlags(FlagGroup):
    """The flags, under the names that click gives them."""

    metrics_bind_address: str
    metrics_secure: bool | None
    bind_address: str
    secure_port: int
    tls_cert_file: Path | None
    tls_private_key_file: Path | None
    authorization_always_allow_paths: str


def serving_flags(command: F) -> F:
    """Give a command the flags of :class:`ServingFlags`."""
    return with_flags(
        command,
        click.option(
            "--metrics-bind-address",
            default="",
            metavar="HOST:PORT",
            help="Serve metrics, health and the status pages here: over plain HTTP and to everybody on loopback, over "
            "TLS and to whom the API server lets elsewhere.",
        ),
        switch(
            "--metrics-secure",
            "TLS and access rules for --metrics-bind-address.  [on, but for loopback]",
            default=None,
        ),
        click.option(
            "--secure-port",
            type=click.IntRange(0, 65535),
            default=0,
            show_default=True,
            help="The same with TLS and access rules always, as kube-controller-manager has it; 0: off.",
        ),
        click.option("--bind-address", default="0.0.0.0", show_default=True, help="Where to listen for --secure-port."),
        click.option(
            "--tls-cert-file",
            type=click.Path(path_type=Path),
            default=None,
            help="The certificate to serve with, in PEM. It is read again when it changes; without one, the process "
            "makes its own and signs it itself.",
        ),
        click.option(
            "--tls-private-key-file",
            type=click.Path(path_type=Path),
            default=None,
            help="The private key that goes with --tls-cert-file.",
        ),
        click.option(
            "--authorization-always-allow-paths",
            type=NAMES,
            default="/healthz,/readyz,/livez",
            show_default=True,
            metavar="PATHS",
            help="Paths that the API server is not asked about, with commas between; one that ends with * stands for "
            "all that begin so.",
        ),
    )


def address_of(flags: ServingFlags) -> tuple[str, int] | None:
    """
    Where to listen, None for nowhere.

    :raises OptionError: if that is no address, or two are given
    """
    from kinformer.manager import OptionError

    text = flags.metrics_bind_address
    if flags.secure_port:
        if text not in ("", "0"):
            raise OptionError("--metrics-bind-address and --secure-port are both given: want one of them")
        return flags.bind_address.strip("[]"), flags.secure_port
    if text in ("", "0"):  # controller-runtime's word for none
        return None
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise OptionError(f"--metrics-bind-address is {text!r}: want HOST:PORT or :PORT")
    return host.strip("[]") or "0.0.0.0", int(port)


def secure_serving_of(flags: ServingFlags) -> SecureServing | None:
    """
    How the endpoint is protected, None if it is not.

    :raises OptionError: if a certificate is given without its key, or a path is none
    """
    from kinformer.manager import OptionError, SecureServing

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
        secure = flags.tls_cert_file is not None or not _is_loopback(address[0])
    if not secure:
        return None
    return SecureServing(flags.tls_cert_file, flags.tls_private_key_file, tuple(paths))


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
