"""The flags of commands that send requests to a running manager: its address, and credentials."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kinformer.cli.groups import FlagGroup, flag, path_flag

__all__ = ("RemoteFlags",)


@dataclass(frozen=True, slots=True)
class RemoteFlags(FlagGroup):
    """The flags."""

    address: str = flag(
        "127.0.0.1:8080",
        "The address of the manager's endpoint, which is its --metrics-bind-address, or a URL. Without http:// or "
        "https://, it is http for this machine and https for others.",
        envvar="KINFORMER_ADDRESS",
        metavar="HOST:PORT",
    )
    token: str | None = flag(
        None,
        "The bearer token of a user who may get /debug/*, if the manager wants one.",
        envvar="KINFORMER_TOKEN",
    )
    token_file: Path | None = path_flag("A file with the token.")
    certificate_authority: Path | None = path_flag(
        "The certificate of the authority that has signed the manager's certificate, in PEM."
    )
    insecure_skip_tls_verify: bool = flag(False, "Accept any certificate.", is_flag=True)
