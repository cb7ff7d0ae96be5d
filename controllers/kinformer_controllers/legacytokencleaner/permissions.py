"""The permissions of the legacy token cleaner at the API server."""

from __future__ import annotations

from typing import Final

from kinformer.permissions import Rule, allow

__all__ = ("PERMISSIONS",)

PERMISSIONS: Final[tuple[Rule, ...]] = (
    allow("list watch patch delete", "secrets"),
    allow("list watch", "serviceaccounts", "pods"),
    Rule(
        ("get",),
        ("configmaps",),
        names=("kube-apiserver-legacy-service-account-token-tracking",),
        namespace="kube-system",
    ),
)
