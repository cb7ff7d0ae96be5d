"""The flags of commands that ask a manager that runs elsewhere: where it is, and who asks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from kinformer.cli.groups import FlagGroup, with_flags

__all__ = ("RemoteFlags", "remote_flags")

F = TypeVar("F", bound=Callable[..., Any])

_DEFAULT = "127.0.0.1:8080"


@dataclass(frozen=True, slots=True)
class RemoteFlags(FlagGroup):
    """The flags, under the names that click gives them."""

    address: str
    token: str | None
    token_file: Path | None
    certificate_authority: Path | None
    insecure_skip_tls_verify: bool


def remote_flags(command: F) -> F:
    """Give a command the flags of :class:`RemoteFlags`."""
    return with_flags(
        command,
        click.option(
            "--address",
            default=_DEFAULT,
            show_default=True,
            envvar="KINFORMER_ADDRESS",
            metavar="HOST:PORT",
            help="Where the manager serves metrics: its --metrics-bind-address. Also a URL; without http:// or "
            "https://, it is http for this machine and https for others.",
        ),
        click.option(
            "--token",
            default=None,
            envvar="KINFORMER_TOKEN",
            help="A bearer token of somebody who may get /debug/*, where the manager wants one.",
        ),
        click.option("--token-file", type=click.Path(path_type=Path), default=None, help="A file that holds it."),
        click.option(
            "--certificate-authority",
            type=click.Path(path_type=Path),
            default=None,
            help="Whom to believe that the manager is the one: a certificate in PEM.",
        ),
        click.option("--insecure-skip-tls-verify", is_flag=True, help="Believe any certificate."),
    )
