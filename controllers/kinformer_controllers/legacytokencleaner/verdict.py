"""Deciding about an automatically made token Secret: keep it, mark it, or delete it.

In: a Secret with its labels, and the time. The API server writes the day of a token's last use into a label. Out: a
verdict. A token that was not used for the period is first marked as invalid. The server then refuses it, and a user who
needs it can remove the label. After another period it is deleted. A Secret to which a pod refers may be used at any
time, so the Secrets of a pod are found here, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from enum import Enum
from typing import Any, Final

from kinformer.models import V1Pod, V1Secret
from kinformer_controllers.shared.identity import is_token_secret

__all__ = (
    "INVALID_SINCE",
    "Verdict",
    "day",
    "is_candidate",
    "parse_day",
    "secrets_of",
    "verdict_on",
)

#: The volume sources that refer to a Secret, with the field of the reference.
_BY_REFERENCE: Final = (
    ("cephfs", "secret_ref"),
    ("cinder", "secret_ref"),
    ("flex_volume", "secret_ref"),
    ("rbd", "secret_ref"),
    ("scale_io", "secret_ref"),
    ("iscsi", "secret_ref"),
    ("storageos", "secret_ref"),
    ("csi", "node_publish_secret_ref"),
)

_LAST_USED: Final = "kubernetes.io/legacy-token-last-used"
INVALID_SINCE: Final = "kubernetes.io/legacy-token-invalid-since"
_DAY: Final = "%Y-%m-%d"


def secrets_of(pod: V1Pod) -> set[str]:
    """Return the names of all Secrets that a pod's spec refers to."""
    spec: Any = pod.spec
    if spec is None:
        return set()
    names = {reference.name for reference in spec.image_pull_secrets or ()}
    for containers in (spec.containers, spec.init_containers, spec.ephemeral_containers):
        for container in containers or ():
            names.update(_of_container(container))
    for volume in spec.volumes or ():
        names.update(_of_volume(volume))
    return {name for name in names if name}


def _of_container(container: Any) -> Iterator[str | None]:
    for source in container.env_from or ():
        if source.secret_ref is not None:
            yield source.secret_ref.name
    for variable in container.env or ():
        value = variable.value_from
        if value is not None and value.secret_key_ref is not None:
            yield value.secret_key_ref.name


def _of_volume(volume: Any) -> Iterator[str | None]:
    if volume.secret is not None:
        yield volume.secret.secret_name
    if volume.azure_file is not None:
        yield volume.azure_file.secret_name
    for source in (volume.projected.sources if volume.projected is not None else None) or ():
        if source.secret is not None:
            yield source.secret.name
    for kind, field in _BY_REFERENCE:
        source = getattr(volume, kind)
        reference = getattr(source, field) if source is not None else None
        if reference is not None:
            yield reference.name


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
    last_used = (meta.labels or {}).get(_LAST_USED)
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
