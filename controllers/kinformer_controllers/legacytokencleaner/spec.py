"""The legacy token cleaner, as in kube-controller-manager: it deletes Secrets with tokens that are not used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kinformer.options import duration
from kinformer.permissions import Rule, allow
from kinformer.spec import ControllerSpec

__all__ = ("TokenCleanerOptions", "SPEC")


@dataclass(frozen=True)
class TokenCleanerOptions:
    legacy_service_account_token_clean_up_period: float = duration(
        365 * 24 * 3600.0,
        "How long a token in a Secret may be unused. Then it is marked as invalid, and deleted after the same time.",
        minimum=1.0,
    )


SPEC: Final = ControllerSpec(
    name="legacy-serviceaccount-token-cleaner-controller",
    aliases=("legacy-service-account-token-cleaner",),
    summary="deletes those of these Secrets that nobody uses",
    factory="kinformer_controllers.legacytokencleaner.controller:LegacyTokenCleaner",
    options=TokenCleanerOptions,
    permissions=(
        allow("list watch patch delete", "secrets"),
        allow("list watch", "serviceaccounts", "pods"),
        Rule(
            ("get",),
            ("configmaps",),
            names=("kube-apiserver-legacy-service-account-token-tracking",),
            namespace="kube-system",
        ),
    ),
    on_leader="one check of all Secrets a day",
    page="identity.md",
    differs="a deletion names the Secret's uid",
)
