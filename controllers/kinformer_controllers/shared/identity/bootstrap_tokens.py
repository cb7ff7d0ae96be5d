"""Bootstrap tokens: Secrets of ``kube-system`` with which new nodes join a cluster that kubeadm made.

In: a Secret and the time. Out: whether the token may sign, and until when it is valid. All functions are pure. The
names of the fields and the rules are those of Kubernetes' ``cluster-bootstrap``.
"""

from __future__ import annotations

import base64
import math
import re
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from kinformer.models import V1Secret

__all__ = ("NAMESPACE", "SigningToken", "is_bootstrap_token", "remaining_seconds", "signing_token", "token_name")

NAMESPACE: Final = "kube-system"
_TYPE: Final = "bootstrap.kubernetes.io/token"
_PREFIX: Final = "bootstrap-token-"
_id_in_name = re.compile(rf"{_PREFIX}([a-z0-9]{{6}})", re.ASCII).fullmatch
#: What Go's ``time.Parse`` reads as RFC 3339: an hour may have one digit, a fraction may begin with a comma.
_time = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)T(\d{1,2}):(\d\d):(\d\d)(?:[.,](\d+))?(?:Z|([+-])(\d\d):(\d\d))", re.ASCII
).fullmatch


class SigningToken(NamedTuple):
    """
    A token that signs.

    :param id: the public part
    :param secret: the secret part: the key of the signature
    """

    id: str
    secret: bytes

    def __repr__(self) -> str:
        return f"SigningToken(id={self.id!r})"


def is_bootstrap_token(secret: V1Secret) -> bool:
    """Whether a Secret is a bootstrap token: by its type and its namespace."""
    return secret.type == _TYPE and secret.metadata.namespace == NAMESPACE


def token_name(token_id: str) -> str:
    """The name of a token's Secret."""
    return f"{_PREFIX}{token_id}"


def signing_token(secret: V1Secret, now: datetime) -> SigningToken | None:
    """Return the token if it may sign now: its Secret is complete, allows this use, and has not expired."""
    named = _id_in_name(secret.metadata.name)
    value = _field(secret, "token-secret")
    if named is None or _field(secret, "token-id") != named[1].encode() or not value:
        return None
    if remaining_seconds(secret, now) == 0 or _field(secret, "usage-bootstrap-signing") != b"true":
        return None
    return SigningToken(named[1], value)


def remaining_seconds(secret: V1Secret, now: datetime) -> float:
    """
    For how long a token is still valid.

    :return: seconds; 0 if it has expired, or if its time of expiry cannot be read; infinity if it does not expire
    """
    text = _field(secret, "expiration")
    if not text:
        return math.inf
    expiry = _seconds(text)
    return 0.0 if expiry is None else max(0.0, expiry - (now - _EPOCH).total_seconds())


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def _seconds(text: bytes) -> float | None:
    """Seconds since 1970; None if the text is not a time."""
    found = _time(text.decode("ascii", errors="replace"))
    if found is None:
        return None
    year, month, day, hour, minute, second = map(int, found.group(1, 2, 3, 4, 5, 6))
    # The year 0 is a time for Go and not for Python. It has 366 days, as the year 4 has.
    early = timedelta(days=1461) if year == 0 else timedelta()
    try:
        moment = datetime(year or 4, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None
    off_hours, off_minutes = int(found[9] or 0), int(found[10] or 0)
    if off_hours > 24 or off_minutes > 60:
        return None
    offset = timedelta(hours=off_hours, minutes=off_minutes) * (-1 if found[8] == "-" else 1)
    return (moment - _EPOCH - early - offset).total_seconds() + float(f"0.{found[7] or 0}")


def _field(secret: V1Secret, name: str) -> bytes:
    """A field of a Secret, decoded; empty if it is missing."""
    return base64.b64decode((secret.data or {}).get(name) or "")
