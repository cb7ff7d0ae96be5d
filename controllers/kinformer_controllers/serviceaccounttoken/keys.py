"""The keys of the token controller's queues. They have more than a name, because the object may be gone.

A ServiceAccount's key has its uid, so that only the tokens of this account are deleted. A Secret's key has the Secret's
uid and the account that it was for. The parts are quoted, because they come from annotations with any content.
"""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import quote, unquote

from kinformer.models import V1Secret, V1ServiceAccount
from kinformer_controllers.shared.identity import account_named_by, account_uid_named_by

__all__ = ("AccountKey", "SecretKey")


class AccountKey(NamedTuple):
    """The key of a ServiceAccount."""

    namespace: str
    name: str
    uid: str

    @classmethod
    def of(cls, account: V1ServiceAccount) -> AccountKey:
        meta = account.metadata
        return cls(meta.namespace, meta.name, meta.uid)

    @classmethod
    def parse(cls, text: str) -> AccountKey:
        return cls(*map(unquote, text.split("/")))

    def __str__(self) -> str:
        return _quoted(self)


class SecretKey(NamedTuple):
    """
    The key of a Secret.

    :param account: the name of the account that the Secret is for
    :param account_uid: the account's uid; ``""`` if the Secret does not have it
    """

    namespace: str
    name: str
    uid: str
    account: str
    account_uid: str

    @classmethod
    def of(cls, secret: V1Secret) -> SecretKey:
        meta = secret.metadata
        return cls(meta.namespace, meta.name, meta.uid, account_named_by(secret), account_uid_named_by(secret))

    @classmethod
    def parse(cls, text: str) -> SecretKey:
        return cls(*map(unquote, text.split("/")))

    def __str__(self) -> str:
        return _quoted(self)


def _quoted(parts: tuple[str, ...]) -> str:
    return "/".join(quote(part, safe="") for part in parts)
