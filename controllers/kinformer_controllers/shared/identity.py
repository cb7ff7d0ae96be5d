"""What the controllers of identity share: the API server's CA certificates, Secrets that hold tokens, counted syncs.

The CA certificates are those with which clients in the cluster verify the API server. They come from
``--root-ca-file``; without this flag they are the certificates with which this process verifies the server. Then the
Secrets that hold the token of a ServiceAccount: their type, their annotations, and the account they belong to. Then
bootstrap tokens: Secrets of ``kube-system`` with which new nodes join a cluster that kubeadm made; whether one may
sign, and until when it is valid. The names of the fields and the rules are Kubernetes'. Two controllers that publish
certificates count and time their syncs by the code of the answer.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, NamedTuple

from prometheus_client import Counter, Histogram

from kinformer.client import Client
from kinformer.client.errors import ApiError
from kinformer.clock import Clock
from kinformer.models import V1Secret
from kinformer.options import OptionError

__all__ = (
    "ACCOUNT_NAME",
    "ACCOUNT_UID",
    "NAMESPACE",
    "SigningToken",
    "account_named_by",
    "account_uid_named_by",
    "counted",
    "is_bootstrap_token",
    "is_token_of",
    "is_token_secret",
    "remaining_seconds",
    "root_ca",
    "signing_token",
    "token_name",
)

_TOKEN_TYPE: Final = "kubernetes.io/service-account-token"
ACCOUNT_NAME: Final = "kubernetes.io/service-account.name"
ACCOUNT_UID: Final = "kubernetes.io/service-account.uid"

NAMESPACE: Final = "kube-system"
_TYPE: Final = "bootstrap.kubernetes.io/token"
_PREFIX: Final = "bootstrap-token-"
_id_in_name = re.compile(rf"{_PREFIX}([a-z0-9]{{6}})", re.ASCII).fullmatch
#: What Go's ``time.Parse`` reads as RFC 3339: an hour may have one digit, a fraction may begin with a comma.
_time = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)T(\d{1,2}):(\d\d):(\d\d)(?:[.,](\d+))?(?:Z|([+-])(\d\d):(\d\d))", re.ASCII
).fullmatch

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def root_ca(client: Client, file: str) -> bytes:
    """
    Return the certificates in PEM.

    The result is empty if there is no file and the client has no certificates of its own: it uses those of the system,
    or does not verify the server.

    :param file: the value of ``--root-ca-file``
    :raises OptionError: if the file cannot be read, or has no certificate in it
    """
    if not file:
        return client.certificate_authorities
    try:
        content = Path(file).read_bytes()
    except OSError as error:
        raise OptionError(f"--root-ca-file {file}: {error.strerror or error}") from error
    if b"-----BEGIN CERTIFICATE-----" not in content:
        raise OptionError(f"--root-ca-file {file}: it has no certificate in PEM")
    return content


def is_token_secret(secret: V1Secret) -> bool:
    return secret.type == _TOKEN_TYPE


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


@contextmanager
def counted(clock: Clock, syncs: Counter, seconds: Histogram) -> Iterator[None]:
    """
    Count one sync and its duration. The label ``code`` is 200 without an error, and 500 for an error without a code.

    :param syncs: has the label ``code``
    :param seconds: has the label ``code``
    """
    began, code = clock.monotonic(), 500
    try:
        yield
        code = 200
    except ApiError as error:
        code = error.status.code or 500
        raise
    finally:
        syncs.labels(code=str(code)).inc()
        seconds.labels(code=str(code)).observe(clock.monotonic() - began)
