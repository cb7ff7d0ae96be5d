"""Labels that have an old and a new name: the old one gets the value of the new one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

__all__ = ("labels_to_set",)

#: The old name of each.
_OLD: Final = {"kubernetes.io/os": "beta.kubernetes.io/os", "kubernetes.io/arch": "beta.kubernetes.io/arch"}


def labels_to_set(labels: Mapping[str, str] | None) -> dict[str, str]:
    """Return the old labels that a node lacks or that differ from the new ones, with the values to set."""
    labels = labels or {}
    return {old: labels[new] for new, old in _OLD.items() if new in labels and labels.get(old) != labels[new]}
