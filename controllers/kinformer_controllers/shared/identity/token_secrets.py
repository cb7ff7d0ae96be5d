"""Secrets that hold the token of a ServiceAccount: their type, their annotations, and whose they are."""

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
    """The name of the account that a Secret is for, ``""`` if it names none."""
    return (secret.metadata.annotations or {}).get(ACCOUNT_NAME, "")


def account_uid_named_by(secret: V1Secret) -> str:
    """The uid of the account that a Secret is for, ``""`` if nobody has filled it in yet."""
    return (secret.metadata.annotations or {}).get(ACCOUNT_UID, "")


def is_token_of(secret: V1Secret, account: str, uid: str) -> bool:
    """Whether a Secret is for the account of this name, and of this uid if the Secret names one."""
    if not is_token_secret(secret) or account_named_by(secret) != account:
        return False
    return account_uid_named_by(secret) in ("", uid)
