"""Deciding about an automatically made token Secret: keep it, mark it, or delete it.

In: a Secret with its labels, and the time. The API server writes the day of a token's last use into a label. Out: a
verdict. A token that was not used for the period is first marked as invalid. The server then refuses it, and a user who
needs it can remove the label. After another period it is deleted.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import Enum
from typing import Final

from kinformer.models import V1Secret
from kinformer_controllers.shared.identity.token_secrets import is_token_secret

__all__ = ("INVALID_SINCE", "LAST_USED", "Verdict", "day", "is_candidate", "parse_day", "verdict_on")

LAST_USED: Final = "kubernetes.io/legacy-token-last-used"
INVALID_SINCE: Final = "kubernetes.io/legacy-token-invalid-since"
_DAY: Final = "%Y-%m-%d"


class Verdict(Enum):
    """The decision about a Secret."""

    KEEP = "keep"
    MARK = "mark"
    DELETE = "delete"


def day(time: datetime) -> str:
    """Format a day for the labels."""
    return time.strftime(_DAY)


def parse_day(text: str) -> datetime | None:
    """Return the beginning of the day in a label; None if the text is not a valid day."""
    try:
        parsed = datetime.strptime(f"{text} +0000", f"{_DAY} %z")
    except ValueError:
        return None
    return parsed if day(parsed) == text else None


def is_candidate(secret: V1Secret, now: datetime, period: timedelta) -> bool:
    """Whether a Secret is a token that is old enough and has not been used for the period."""
    meta = secret.metadata
    if not is_token_secret(secret) or meta.deletion_timestamp is not None:
        return False
    if meta.creation_timestamp is None or meta.creation_timestamp >= now - period:
        return False
    last_used = (meta.labels or {}).get(LAST_USED)
    if last_used is None:
        return True  # never used since the server began to record this
    # If the day is invalid, the last use is not known.
    return parse_day(last_used) is not None and last_used < day(now - period)


def verdict_on(secret: V1Secret, now: datetime, period: timedelta) -> Verdict:
    """Decide about a candidate that no pod mounts."""
    invalid_since = (secret.metadata.labels or {}).get(INVALID_SINCE, "")
    if parse_day(invalid_since) is None:
        return Verdict.MARK
    return Verdict.KEEP if invalid_since >= day(now - period) else Verdict.DELETE
