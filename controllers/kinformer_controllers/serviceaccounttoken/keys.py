"""Keys of the token controller's queues: more than a name, so that what is gone is known by what it was.

A ServiceAccount's key has its uid: the tokens of that very account go with it. A Secret's key has its own uid, and the
account that it was for. The parts are quoted, since annotations may hold anything.
"""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import quote, unquote

from kinformer.models import V1Secret, V1ServiceAccount
from kinformer_controllers.shared.identity.token_secrets import account_named_by, account_uid_named_by

__all__ = ("AccountKey", "SecretKey")


class AccountKey(NamedTuple):
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
    :param account: the name of the account that the Secret is for
    :param account_uid: its uid, ``""`` if the Secret did not say
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
