"""The service account token controller, as in kube-controller-manager: it fills Secrets with tokens of accounts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kinformer.options import option, workers
from kinformer.permissions import allow
from kinformer.spec import ControllerSpec
from kinformer_controllers.shared.options import root_ca_file

__all__ = ("TokenOptions", "SPEC")


@dataclass(frozen=True)
class TokenOptions:
    concurrent_serviceaccount_token_syncs: int = workers(5, "service account tokens")
    root_ca_file: str = root_ca_file()
    service_account_private_key_file: str = option(
        "",
        "File with the RSA or ECDSA key, in PEM, that signs the tokens of service accounts. Without it no Secret gets "
        "a token.",
    )


SPEC: Final = ControllerSpec(
    name="serviceaccount-token-controller",
    aliases=("serviceaccount-token",),
    summary="writes tokens into Secrets of the type `service-account-token`",
    factory="kinformer_controllers.serviceaccounttoken.controller:make_controller",
    options=TokenOptions,
    permissions=(
        allow("get list watch update", "serviceaccounts"),
        allow("get list watch update delete", "secrets"),
    ),
    sharded_by="namespace",
    page="identity.md",
    differs="a failed sync is tried again without a limit, not only ten times",
)
