"""Choosing the volume for a claim: the smallest available one that meets all its requirements; and the indexes for it.

In: a claim, and volumes in groups by their access modes. Out: a volume, or None. A volume that is reserved for the
claim or was made for it is preferred. Groups with fewer access modes are tried first, so that the volume has few modes
that the claim does not need. If a pod has to be scheduled first (`delay_binding`), only a reserved volume is chosen.
Volumes are indexed by access modes and by claim, claims by their class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from kinformer.cache import SharedIndexInformer
from kinformer.meta import Quantity
from kinformer.meta.selectors import label_selector_as_selector
from kinformer_controllers.shared.volumes.facts import (
    Claim,
    Volume,
    capacity_of,
    claimed_keys,
    class_of_claim,
    class_of_volume,
    has_modes,
    is_bound_to,
    requested_storage,
    same_volume_mode,
    volume_attributes_class,
)

__all__ = (
    "CLAIMED_INDEX",
    "MODES_INDEX",
    "WAITING_INDEX",
    "add_indexes",
    "best_match",
    "is_free",
    "mismatch",
    "smallest_match",
)

#: The name of the index of volumes by their access modes.
MODES_INDEX: Final = "accessmodes"
_ORDER: Final = ("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod")

#: The index of volumes by the key of the claim that they name.
CLAIMED_INDEX: Final = "claimed-by"
#: The index of claims without a volume, by their class.
WAITING_INDEX: Final = "waiting-of-class"


def _access_modes_key(volume: Volume) -> str:
    """Return the index value of a volume: its access modes without duplicates, in Kubernetes' order."""
    modes = volume.spec.access_modes or ()
    return ",".join(mode for mode in _ORDER if mode in modes)


def best_match(
    claim: Claim, groups: Iterable[str], volumes_of: Callable[[str], Iterable[Volume]], *, delay_binding: bool = False
) -> Volume | None:
    """
    Return the volume for a claim; None if there is none.

    :param groups: the values of the index
    :param volumes_of: returns the volumes with one of these values
    :raises ValueError: if the claim's selector or a quantity is invalid
    """
    split = {group: [mode for mode in group.split(",") if mode] for group in groups}
    wanted = claim.spec.access_modes or ()
    fitting = [group for group, modes in split.items() if has_modes(modes, wanted)]
    for group in sorted(fitting, key=lambda group: len(split[group])):
        found = smallest_match(claim, volumes_of(group), delay_binding=delay_binding)
        if found is not None:
            return found
    return None


def mismatch(volume: Volume, claim: Claim) -> str:
    """Return why a volume that a claim names is not suitable; ``""`` if it is. The texts are Kubernetes'."""
    if volume.metadata.deletion_timestamp is not None:
        return f'the volume is marked for deletion "{volume.metadata.name}"'
    if capacity_of(volume).value() < requested_storage(claim).value():
        return "requested PV is too small"
    if class_of_volume(volume) != class_of_claim(claim):
        return "storageClassName does not match"
    if volume_attributes_class(volume) != volume_attributes_class(claim):
        return "volumeAttributesClassName does not match"
    if not same_volume_mode(claim, volume):
        return "incompatible volumeMode"
    if not has_modes(volume.spec.access_modes, claim.spec.access_modes):
        return "incompatible accessMode"
    return ""


def smallest_match(claim: Claim, volumes: Iterable[Volume], *, delay_binding: bool = False) -> Volume | None:
    """
    Return the smallest of these volumes that is suitable for a claim. Access modes are not compared.

    :raises ValueError: if the claim's selector or a quantity is invalid
    """
    selector = label_selector_as_selector(claim.spec.selector) if claim.spec.selector is not None else None
    requested, wanted_class = requested_storage(claim), class_of_claim(claim)
    best: Volume | None = None
    best_size: Quantity | None = None
    for volume in volumes:
        if volume.spec.claim_ref is not None and not is_bound_to(volume, claim):
            continue
        size = capacity_of(volume)
        if size < requested or not same_volume_mode(claim, volume):
            continue
        if volume_attributes_class(volume) != volume_attributes_class(claim):
            continue
        if volume.metadata.deletion_timestamp is not None:
            continue
        if volume.spec.claim_ref is not None:
            return volume
        if delay_binding or volume.status is None or volume.status.phase != "Available":
            continue
        if selector is not None and not selector.matches(volume.metadata.labels or {}):
            continue
        if class_of_volume(volume) == wanted_class and (best_size is None or size < best_size):
            best, best_size = volume, size
    return best


def add_indexes(volumes: SharedIndexInformer[Any], claims: SharedIndexInformer[Any]) -> None:
    """Add the indexes to both caches."""
    volumes.add_indexers({MODES_INDEX: lambda volume: (_access_modes_key(volume),), CLAIMED_INDEX: claimed_keys})
    claims.add_indexers({WAITING_INDEX: _waiting})


def is_free(volume: Volume) -> bool:
    """Whether a volume is available for any claim."""
    return volume.spec.claim_ref is None and volume.status is not None and volume.status.phase == "Available"


def _waiting(claim: Claim) -> tuple[str, ...]:
    return () if claim.spec.volume_name else (class_of_claim(claim),)
