"""What follows from a node's own fields: its NoSchedule taints, and the old names of its labels.

There is a taint for each bad condition, and one for ``spec.unschedulable``. Some labels have an old and a new name. The
old one gets the value of the new one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kinformer.models import V1Node, V1Taint
from kinformer.placement.taints import NO_SCHEDULE
from kinformer_controllers.shared.taints import (
    DISK_PRESSURE,
    MEMORY_PRESSURE,
    NETWORK_UNAVAILABLE,
    NOT_READY,
    PID_PRESSURE,
    UNREACHABLE,
    UNSCHEDULABLE,
    differing_taints,
)

__all__ = ("labels_to_set", "no_schedule_changes")

#: The key of the taint for a condition's type and status.
_KEYS: Final = {
    ("Ready", "False"): NOT_READY,
    ("Ready", "Unknown"): UNREACHABLE,
    ("MemoryPressure", "True"): MEMORY_PRESSURE,
    ("DiskPressure", "True"): DISK_PRESSURE,
    ("NetworkUnavailable", "True"): NETWORK_UNAVAILABLE,
    ("PIDPressure", "True"): PID_PRESSURE,
}
#: The keys of this controller's taints. Other NoSchedule taints are not changed.
_OWN: Final = frozenset({*_KEYS.values(), UNSCHEDULABLE})
#: The old name of each label that has one.
_OLD: Final = {"kubernetes.io/os": "beta.kubernetes.io/os", "kubernetes.io/arch": "beta.kubernetes.io/arch"}


def no_schedule_changes(node: V1Node) -> tuple[list[V1Taint], list[V1Taint]]:
    """Return the NoSchedule taints to add to a node, and those to remove from it."""
    conditions = (node.status.conditions if node.status is not None else None) or ()
    keys = [_KEYS[found] for each in conditions if (found := (each.type, each.status)) in _KEYS]
    if node.spec.unschedulable:
        keys.append(UNSCHEDULABLE)
    there = [taint for taint in node.spec.taints or () if taint.effect == NO_SCHEDULE and taint.key in _OWN]
    return differing_taints([V1Taint(key=key, effect=NO_SCHEDULE) for key in keys], there)


def labels_to_set(labels: Mapping[str, str] | None) -> dict[str, str]:
    """Return the old labels that a node lacks or that differ from the new ones, with the values to set."""
    labels = labels or {}
    return {old: labels[new] for new, old in _OLD.items() if new in labels and labels.get(old) != labels[new]}
