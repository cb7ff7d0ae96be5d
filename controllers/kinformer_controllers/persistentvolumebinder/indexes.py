"""The indexes of volumes and claims: by access modes, by claim, and by class."""

from __future__ import annotations

from typing import Any, Final

from kinformer.cache import SharedIndexInformer
from kinformer_controllers.persistentvolumebinder.matching import MODES_INDEX, access_modes_key
from kinformer_controllers.shared.volumes.facts import Claim, Volume, claimed_key, class_of_claim

__all__ = ("CLAIMED_INDEX", "WAITING_INDEX", "add_indexes", "is_free")

#: The index of volumes by the key of the claim that they name.
CLAIMED_INDEX: Final = "claimed-by"
#: The index of claims without a volume, by their class.
WAITING_INDEX: Final = "waiting-of-class"


def add_indexes(volumes: SharedIndexInformer[Any], claims: SharedIndexInformer[Any]) -> None:
    """Add the indexes to both caches."""
    volumes.add_indexers({MODES_INDEX: lambda volume: (access_modes_key(volume),), CLAIMED_INDEX: _claimed})
    claims.add_indexers({WAITING_INDEX: _waiting})


def is_free(volume: Volume) -> bool:
    """Whether a volume is available for any claim."""
    return volume.spec.claim_ref is None and volume.status is not None and volume.status.phase == "Available"


def _claimed(volume: Volume) -> tuple[str, ...]:
    key = claimed_key(volume)
    return (key,) if key is not None else ()


def _waiting(claim: Claim) -> tuple[str, ...]:
    return () if claim.spec.volume_name else (class_of_claim(claim),)
