"""A node's list of taints. Two taints are the same one if key and effect are; the value and the time may differ.

Nothing here changes a list that it was given: those of a cached node stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from kinformer.models import V1Taint
from kinformer.placement.taints import NO_EXECUTE

__all__ = (
    "DISK_PRESSURE",
    "MEMORY_PRESSURE",
    "NETWORK_UNAVAILABLE",
    "NOT_READY",
    "OUT_OF_SERVICE",
    "PID_PRESSURE",
    "UNREACHABLE",
    "UNSCHEDULABLE",
    "differing_taints",
    "has_taint",
    "is_same_taint",
    "no_execute_taints",
    "with_taints",
    "without_taints",
)

#: The keys of the taints that controllers set.
NOT_READY: Final = "node.kubernetes.io/not-ready"
UNREACHABLE: Final = "node.kubernetes.io/unreachable"
UNSCHEDULABLE: Final = "node.kubernetes.io/unschedulable"
MEMORY_PRESSURE: Final = "node.kubernetes.io/memory-pressure"
DISK_PRESSURE: Final = "node.kubernetes.io/disk-pressure"
PID_PRESSURE: Final = "node.kubernetes.io/pid-pressure"
NETWORK_UNAVAILABLE: Final = "node.kubernetes.io/network-unavailable"
OUT_OF_SERVICE: Final = "node.kubernetes.io/out-of-service"


def is_same_taint(one: V1Taint, other: V1Taint) -> bool:
    return one.key == other.key and one.effect == other.effect


def has_taint(taints: Iterable[V1Taint] | None, taint: V1Taint) -> bool:
    """Whether a taint of that key and effect is among these."""
    return any(is_same_taint(each, taint) for each in taints or ())


def no_execute_taints(taints: Iterable[V1Taint] | None) -> list[V1Taint]:
    """Those that drive off pods which are there already."""
    return [taint for taint in taints or () if taint.effect == NO_EXECUTE]


def with_taints(taints: Iterable[V1Taint] | None, *added: V1Taint) -> list[V1Taint]:
    """The taints with these: each in the place of the one that it is the same as, or at the end."""
    result = list(taints or ())
    for taint in added:
        at = next((n for n, there in enumerate(result) if is_same_taint(there, taint)), None)
        if at is None:
            result.append(taint)
        else:
            result[at] = taint
    return result


def without_taints(taints: Iterable[V1Taint] | None, *removed: V1Taint) -> list[V1Taint]:
    """The taints but for these."""
    return [taint for taint in taints or () if not has_taint(removed, taint)]


def differing_taints(wanted: Sequence[V1Taint], there: Sequence[V1Taint] | None) -> tuple[list[V1Taint], list[V1Taint]]:
    """What to add to `there`, and what to remove from it, for it to be as `wanted`."""
    return without_taints(wanted, *(there or ())), without_taints(there, *wanted)
