"""Secrets that hold the token of a ServiceAccount: their type, their annotations, and the account they belong to."""

from __future__ import annotations

from typing import Final

from kinformer.models import V1Secret

__all__ = (
    "ACCOUNT_NAME",
    "ACCOUNT_UID",
    "TOKEN_TYPE",
    "account_named_by",
    "account_uid_named_by",
    "is_token_of",
    "is_token_secret",
)

TOKEN_TYPE: Final = "kubernetes.io/service-account-token"
ACCOUNT_NAME: Final = "kubernetes.io/service-account.name"
ACCOUNT_UID: Final = "kubernetes.io/service-account.uid"


def is_token_secret(secret: V1Secret) -> bool:
    return secret.type == TOKEN_TYPE


def account_named_by(secret: V1Secret) -> str:
    """Return the name of the account that a Secret is for; ``""`` if it names none."""
    return (secret.metadata.annotations or {}).get(ACCOUNT_NAME, "")


def account_uid_named_by(secret: V1Secret) -> str:
    """Return the uid of the account that a Secret is for; ``""`` if it has not been filled in yet."""
    return (secret.metadata.annotations or {}).get(ACCOUNT_UID, "")


def is_token_of(secret: V1Secret, account: str, uid: str) -> bool:
    """Whether a Secret is for the account with this name. If the Secret names a uid, it must be the same, too."""
    if not is_token_secret(secret) or account_named_by(secret) != account:
        return False
    return account_uid_named_by(secret) in ("", uid)
