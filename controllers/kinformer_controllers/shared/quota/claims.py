"""Measures PersistentVolumeClaims: their number and their storage, in total and by storage class."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from kinformer.meta import GroupResource, Quantity
from kinformer.meta.resourcelist import ResourceList
from kinformer_controllers.shared.quota.counts import ONE, count_name
from kinformer_controllers.shared.quota.evaluator import CREATE, UPDATE, GenericEvaluator
from kinformer_controllers.shared.quota.scopes import EXISTS, VOLUME_ATTRIBUTES_CLASS, ScopeRequirement, matches_class
from kinformer_controllers.shared.quota.sources import NoSource, ObjectSource
from kinformer_controllers.shared.quota.views import ClaimView, claim_view

__all__ = ("CLAIMS", "attributes_classes", "claim_evaluator", "claim_matches_scope", "claim_usage")

CLAIMS: Final = GroupResource("", "persistentvolumeclaims")

_COUNT: Final = count_name(CLAIMS)
_CLAIMS: Final = "persistentvolumeclaims"
_STORAGE: Final = "requests.storage"
_NAMES: Final = (_CLAIMS, _STORAGE)
_BY_CLASS: Final = ".storageclass.storage.k8s.io/"
_BY_CLASS_SUFFIXES: Final = tuple(_BY_CLASS + name for name in _NAMES)
_CLASS_ANNOTATION: Final = "volume.beta.kubernetes.io/storage-class"


def claim_usage(obj: Any) -> ResourceList:
    """
    Return what a claim uses. Its storage is the larger of the requested and the allocated amount, in whole bytes.

    :raises UnreadableObject: if the object is not a claim
    :raises QuantityError: if the storage is not a valid quantity
    """
    claim = claim_view(obj)
    storage_class = _storage_class(claim)
    storage = _storage(claim)
    used = {_CLAIMS: ONE, _COUNT: ONE}
    if storage_class:
        used[f"{storage_class}{_BY_CLASS}{_CLAIMS}"] = ONE
    if storage is not None:
        used[_STORAGE] = storage
        if storage_class:
            used[f"{storage_class}{_BY_CLASS}{_STORAGE}"] = storage
    return used


def claim_matches_scope(requirement: ScopeRequirement, obj: Any) -> bool:
    """
    Whether a claim is in a scope. VolumeAttributesClass is the only scope for claims.

    :raises ScopeError: if the requirement is invalid
    """
    if requirement.scope != VOLUME_ATTRIBUTES_CLASS:
        return False
    names = attributes_classes(obj)
    return bool(names) if requirement.operator == EXISTS else matches_class(requirement, names)


def attributes_classes(obj: Any) -> list[str]:
    """Return the VolumeAttributesClasses that a claim requests, has, or is being changed to."""
    claim = claim_view(obj)
    modify = claim.status.modify_volume_status
    names = (
        claim.spec.volume_attributes_class_name,
        claim.status.current_volume_attributes_class_name,
        modify.target_volume_attributes_class_name if modify is not None else None,
    )
    return sorted({name for name in names if name})


def claim_evaluator(source: ObjectSource | None = None) -> GenericEvaluator:
    """Make the evaluator of claims. Updates of the status count, too: they show an expansion of the volume first."""
    return _ClaimEvaluator(
        CLAIMS,
        (_COUNT, *_NAMES),
        claim_usage,
        operations={"": (CREATE, UPDATE), "status": (CREATE, UPDATE)},
        matches_scope=claim_matches_scope,
        source=source or NoSource(),
    )


class _ClaimEvaluator(GenericEvaluator):
    def matching_resources(self, names: Iterable[str]) -> list[str]:
        """Return the names that are measured, with those of all storage classes, whether these exist or not."""
        known = self.resource_names
        return sorted({name for name in names if name in known or name.endswith(_BY_CLASS_SUFFIXES)})


def _storage_class(claim: ClaimView) -> str:
    annotations = claim.metadata.annotations
    if annotations and _CLASS_ANNOTATION in annotations:
        return annotations[_CLASS_ANNOTATION]
    return claim.spec.storage_class_name or ""


def _storage(claim: ClaimView) -> Quantity | None:
    resources = claim.spec.resources
    asked = resources.requests.get("storage") if resources is not None and resources.requests else None
    if asked is None:
        return None
    # Rounded up, because a quota's status holds whole bytes.
    amount = Quantity.parse(asked).rounded_up(0)
    given = (claim.status.allocated_resources or {}).get("storage")
    if given is not None and (allocated := Quantity.parse(given)) > amount:
        amount = allocated.rounded_up(0)
    return amount
