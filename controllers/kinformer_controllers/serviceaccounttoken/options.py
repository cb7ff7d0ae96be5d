"""The options of the service account token controller."""

from __future__ import annotations

from dataclasses import dataclass

from kinformer.options import option, workers
from kinformer_controllers.shared.options import root_ca_file

__all__ = ("TokenOptions",)


@dataclass(frozen=True)
class TokenOptions:
    concurrent_serviceaccount_token_syncs: int = workers(5, "service account tokens")
    root_ca_file: str = root_ca_file()
    service_account_private_key_file: str = option(
        "",
        "File with the RSA or ECDSA key, in PEM, that signs the tokens of service accounts. Without it no Secret gets "
        "a token.",
    )
