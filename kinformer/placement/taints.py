"""Taints and tolerations: decide which taints of a node keep a pod away or evict it, and when.

The operators ``Lt`` and ``Gt`` tolerate nothing here: they are an alpha feature of Kubernetes 1.36, off by default.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from typing import Final

from kinformer.meta.integers import duration_of
from kinformer.models import V1Taint, V1Toleration

__all__ = (
    "NO_EXECUTE",
    "NO_SCHEDULE",
    "PREFER_NO_SCHEDULE",
    "find_untolerated",
    "matching_tolerations",
    "min_toleration_seconds",
    "tolerates",
)

NO_SCHEDULE: Final = "NoSchedule"
PREFER_NO_SCHEDULE: Final = "PreferNoSchedule"
NO_EXECUTE: Final = "NoExecute"


def tolerates(toleration: V1Toleration, taint: V1Taint) -> bool:
    """Whether a toleration matches this taint. A toleration without an effect or key matches all effects or keys."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    operator = toleration.operator or "Equal"
    if operator == "Equal":
        return (toleration.value or "") == (taint.value or "")
    return operator == "Exists"


def _keeps_away(taint: V1Taint) -> bool:
    """Whether a taint forbids scheduling. A taint with ``PreferNoSchedule`` does not."""
    return taint.effect in (NO_SCHEDULE, NO_EXECUTE)


def find_untolerated(
    taints: Iterable[V1Taint] | None,
    tolerations: Sequence[V1Toleration] | None,
    concerns: Callable[[V1Taint], bool] = _keeps_away,
) -> V1Taint | None:
    """
    The first taint that no toleration matches; None if there is none.

    :param concerns: returns whether a taint is considered
    """
    for taint in taints or ():
        if concerns(taint) and not any(tolerates(each, taint) for each in tolerations or ()):
            return taint
    return None


def matching_tolerations(
    taints: Sequence[V1Taint], tolerations: Sequence[V1Toleration] | None
) -> list[V1Toleration] | None:
    """For each taint, the first toleration that matches it; None if a taint is not tolerated."""
    found: list[V1Toleration] = []
    for taint in taints:
        toleration = next((each for each in tolerations or () if tolerates(each, taint)), None)
        if toleration is None:
            return None
        found.append(toleration)
    return found


def min_toleration_seconds(tolerations: Sequence[V1Toleration]) -> int | None:
    """
    The seconds for which taints are tolerated: the minimum of their tolerations, 0 if there are none.

    :return: the seconds; None if they are tolerated for ever
    """
    if not tolerations:
        return 0
    limits = [each.toleration_seconds for each in tolerations if each.toleration_seconds is not None]
    if not limits:
        return None
    # More than 292 years wrap around, as in Go. A negative time stands for ever there.
    seconds = duration_of(max(min(limits), 0)) // timedelta(seconds=1)
    return seconds if seconds >= 0 else None
