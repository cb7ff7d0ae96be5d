"""Reading volumes and claims: their class, mode, size and access modes, and whether they belong together.

The rules are those of Kubernetes' ``component-helpers/storage/volume``. The beta annotation for the storage class is
still read, and takes precedence over the field.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, TypeAlias

from kinformer.meta import Quantity
from kinformer.models import V1PersistentVolume, V1PersistentVolumeClaim, V1StorageClass

__all__ = (
    "BETA_STORAGE_PROVISIONER",
    "BIND_COMPLETED",
    "BOUND_BY_CONTROLLER",
    "PRE_RESIZE_CAPACITY",
    "PROVISIONED_BY",
    "SELECTED_NODE",
    "STORAGE_PROVISIONER",
    "Claim",
    "Volume",
    "annotation_of",
    "capacity_of",
    "claim_key",
    "class_of_claim",
    "class_of_volume",
    "claimed_key",
    "claimed_keys",
    "default_class",
    "has_class",
    "has_modes",
    "is_bound_to",
    "requested_storage",
    "same_volume_mode",
    "volume_attributes_class",
)

Claim: TypeAlias = V1PersistentVolumeClaim
Volume: TypeAlias = V1PersistentVolume

#: On volumes and claims: the controller bound the two. A volume without it was reserved for its claim by a user.
BOUND_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"
#: On a claim: it has been bound. If its volume is deleted, the claim is lost.
BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
#: On a volume: the name of the provisioner that made it for a claim.
PROVISIONED_BY: Final = "pv.kubernetes.io/provisioned-by"
#: On a claim: the name of the provisioner that has to make a volume for it.
STORAGE_PROVISIONER: Final = "volume.kubernetes.io/storage-provisioner"
BETA_STORAGE_PROVISIONER: Final = "volume.beta.kubernetes.io/storage-provisioner"
#: On a claim: the node that the scheduler has chosen for the pod that waits for the claim.
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
#: On a volume that was expanded and whose file system was not yet: the size of the file system.
PRE_RESIZE_CAPACITY: Final = "volume.alpha.kubernetes.io/pre-resize-capacity"

_BETA_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
_DEFAULT_CLASS: Final = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
_FILESYSTEM: Final = "Filesystem"


def annotation_of(obj: Any, name: str) -> str | None:
    return (obj.metadata.annotations or {}).get(name)


def claim_key(claim: Claim) -> str:
    return f"{claim.metadata.namespace}/{claim.metadata.name}"


def claimed_key(volume: Volume) -> str | None:
    """Return the key of the claim that a volume is bound to or reserved for; None if there is none."""
    reference = volume.spec.claim_ref
    return f"{reference.namespace}/{reference.name}" if reference is not None else None


def claimed_keys(volume: Volume) -> tuple[str, ...]:
    """Return the same for an index."""
    key = claimed_key(volume)
    return (key,) if key is not None else ()


def class_of_claim(claim: Claim) -> str:
    """Return the storage class that a claim asks for; ``""`` for none."""
    beta = annotation_of(claim, _BETA_CLASS)
    return beta if beta is not None else claim.spec.storage_class_name or ""


def has_class(claim: Claim) -> bool:
    """Whether a claim names a storage class. The empty name counts, too: it asks for no class."""
    return annotation_of(claim, _BETA_CLASS) is not None or claim.spec.storage_class_name is not None


def class_of_volume(volume: Volume) -> str:
    """Return the storage class of a volume; ``""`` for none."""
    beta = annotation_of(volume, _BETA_CLASS)
    return beta if beta is not None else volume.spec.storage_class_name or ""


def default_class(classes: Iterable[V1StorageClass]) -> V1StorageClass | None:
    """Return the default class. If there are several, it is the newest; among equally new ones the first by name."""
    candidates = [it for it in classes if any(annotation_of(it, name) == "true" for name in _DEFAULT_CLASS)]
    candidates.sort(key=lambda it: it.metadata.name)
    return max(candidates, key=lambda it: it.metadata.creation_timestamp, default=None) if candidates else None


def requested_storage(claim: Claim) -> Quantity:
    """Return the storage that a claim requests; zero if it requests none."""
    requests = (claim.spec.resources.requests if claim.spec.resources is not None else None) or {}
    return Quantity.parse(requests.get("storage", "0"))


def capacity_of(volume: Volume) -> Quantity:
    return Quantity.parse((volume.spec.capacity or {}).get("storage", "0"))


def same_volume_mode(claim: Claim, volume: Volume) -> bool:
    return (claim.spec.volume_mode or _FILESYSTEM) == (volume.spec.volume_mode or _FILESYSTEM)


def has_modes(offered: Iterable[str] | None, wanted: Iterable[str] | None) -> bool:
    """Whether `offered` has all access modes in `wanted`."""
    return set(wanted or ()) <= set(offered or ())


def volume_attributes_class(obj: Claim | Volume) -> str:
    return obj.spec.volume_attributes_class_name or ""


def is_bound_to(volume: Volume, claim: Claim) -> bool:
    """Whether a volume is bound to a claim, or reserved for a claim with its name."""
    reference = volume.spec.claim_ref
    if reference is None:
        return False
    meta = claim.metadata
    if (reference.namespace, reference.name) != (meta.namespace, meta.name):
        return False
    return not reference.uid or reference.uid == meta.uid
