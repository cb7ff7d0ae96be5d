"""Functions on a node's list of taints.

Two taints are the same if their key and effect are equal. Their value and their time are not compared. No function
changes a list that it gets, so the lists of cached nodes are safe.
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
    """Whether the list has a taint with that key and effect."""
    return any(is_same_taint(each, taint) for each in taints or ())


def no_execute_taints(taints: Iterable[V1Taint] | None) -> list[V1Taint]:
    """Return the taints that evict running pods: those with the effect NoExecute."""
    return [taint for taint in taints or () if taint.effect == NO_EXECUTE]


def with_taints(taints: Iterable[V1Taint] | None, *added: V1Taint) -> list[V1Taint]:
    """Return the list with these taints. Each replaces the one that is the same, or is appended."""
    result = list(taints or ())
    for taint in added:
        at = next((n for n, there in enumerate(result) if is_same_taint(there, taint)), None)
        if at is None:
            result.append(taint)
        else:
            result[at] = taint
    return result


def without_taints(taints: Iterable[V1Taint] | None, *removed: V1Taint) -> list[V1Taint]:
    """Return the list without these taints."""
    return [taint for taint in taints or () if not has_taint(removed, taint)]


def differing_taints(wanted: Sequence[V1Taint], there: Sequence[V1Taint] | None) -> tuple[list[V1Taint], list[V1Taint]]:
    """Return the taints to add to `there`, and those to remove from it, so that it becomes `wanted`."""
    return without_taints(wanted, *(there or ())), without_taints(there, *wanted)
