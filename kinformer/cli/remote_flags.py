"""The flags of commands that send requests to a running manager: its address, and credentials."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from kinformer.cli.groups import F, FlagGroup, with_flags

__all__ = ("RemoteFlags", "remote_flags")

_DEFAULT = "127.0.0.1:8080"


@dataclass(frozen=True, slots=True)
class RemoteFlags(FlagGroup):
    """The values of the flags, under the names that click gives them."""

    address: str
    token: str | None
    token_file: Path | None
    certificate_authority: Path | None
    insecure_skip_tls_verify: bool


def remote_flags(command: F) -> F:
    """Add the flags of :class:`RemoteFlags` to a command."""
    return with_flags(
        command,
        click.option(
            "--address",
            default=_DEFAULT,
            show_default=True,
            envvar="KINFORMER_ADDRESS",
            metavar="HOST:PORT",
            help="The address of the manager's endpoint, which is its --metrics-bind-address, or a URL. Without "
            "http:// or https://, it is http for this machine and https for others.",
        ),
        click.option(
            "--token",
            default=None,
            envvar="KINFORMER_TOKEN",
            help="The bearer token of a user who may get /debug/*, if the manager wants one.",
        ),
        click.option("--token-file", type=click.Path(path_type=Path), default=None, help="A file with the token."),
        click.option(
            "--certificate-authority",
            type=click.Path(path_type=Path),
            default=None,
            help="The certificate of the authority that has signed the manager's certificate, in PEM.",
        ),
        click.option("--insecure-skip-tls-verify", is_flag=True, help="Accept any certificate."),
    )
