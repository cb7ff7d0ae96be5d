"""The retention policy of claims: the owner references that each claim should have.

The garbage collector deletes a claim whose owner is gone. So a claim that should be deleted with the StatefulSet is
owned by the StatefulSet, and a claim that should be deleted after scaling down is owned by its pod:

========== =========== ==============================================================
whenScaled whenDeleted owner of the claim
========== =========== ==============================================================
Retain     Retain      none
Retain     Delete      the StatefulSet
Delete     Retain      the pod, if it is outside the range of ordinals
Delete     Delete      the pod, if it is outside the range; else the StatefulSet
========== =========== ==============================================================

A claim that has another controller, or that belongs to an earlier object with the same name, is not changed. All
functions are pure.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from kinformer.models import V1OwnerReference, V1PersistentVolumeClaim, V1Pod, V1StatefulSet
from kinformer_controllers.statefulset.pods import is_in_range

__all__ = ("deletes_on_scale_down", "has_conflicting_controller", "is_stale_for", "owners_match", "wanted_owners")

RETAIN: Final = "Retain"
DELETE: Final = "Delete"


class _Owner(NamedTuple):
    """The fields of an owner reference that identify its owner."""

    api_version: str
    kind: str
    name: str
    uid: str

    def is_named_by(self, reference: V1OwnerReference) -> bool:
        """Whether the reference names an object of this kind and name. The uid is not compared."""
        return (reference.api_version, reference.kind, reference.name) == self[:3]


def deletes_on_scale_down(statefulset: V1StatefulSet) -> bool:
    """Whether a claim is deleted with its pod when the StatefulSet is scaled down."""
    return _policy(statefulset)[0] != RETAIN


def is_stale_for(claim: V1PersistentVolumeClaim, pod: V1Pod) -> bool:
    """Whether the claim is owned by an earlier pod with the same name, so that it will be deleted."""
    return _is_stale(claim, _pod(pod))


def has_conflicting_controller(claim: V1PersistentVolumeClaim, statefulset: V1StatefulSet, pod: V1Pod) -> bool:
    """Whether the policy could delete the claim, and the claim has a controller other than the StatefulSet and pod."""
    if _policy(statefulset) == (RETAIN, RETAIN):
        return False
    for reference in claim.metadata.owner_references or ():
        owner = next((one for one in (_set(statefulset), _pod(pod)) if one.is_named_by(reference)), None)
        if owner is not None:
            if reference.uid != owner.uid:
                return True  # it belongs to an earlier object with this name, and the garbage collector will delete it
        elif reference.controller:
            return True
    return False


def owners_match(claim: V1PersistentVolumeClaim, statefulset: V1StatefulSet, pod: V1Pod) -> bool:
    """Whether the claim's owners are as the policy asks for, or must not be changed."""
    owners = _set(statefulset), _pod(pod)
    if any(_is_stale(claim, owner) for owner in owners):
        return True
    ours = {owner.uid for owner in owners}
    there = [reference for reference in claim.metadata.owner_references or () if reference.uid in ours]
    if has_conflicting_controller(claim, statefulset, pod):
        return not there
    if not all(reference.controller for reference in there):
        return False
    owner = _wanted(statefulset, pod)
    return {reference.uid for reference in there} == ({owner.uid} if owner is not None else set())


def wanted_owners(claim: V1PersistentVolumeClaim, statefulset: V1StatefulSet, pod: V1Pod) -> list[V1OwnerReference]:
    """Return the owner references that the claim should have. References to other owners stay."""
    owners = _set(statefulset), _pod(pod)
    references = [
        reference
        for reference in claim.metadata.owner_references or ()
        if not any(owner.is_named_by(reference) for owner in owners)
    ]
    owner = None if has_conflicting_controller(claim, statefulset, pod) else _wanted(statefulset, pod)
    if owner is not None and all(reference.uid != owner.uid for reference in references):
        references.append(V1OwnerReference(**owner._asdict(), controller=True, block_owner_deletion=True))
    return references


def _wanted(statefulset: V1StatefulSet, pod: V1Pod) -> _Owner | None:
    """Return the owner that the pod's claims should have; None for none. An unknown policy counts as Retain."""
    scaled, deleted = _policy(statefulset)
    if not {scaled, deleted} <= {RETAIN, DELETE}:
        return None
    if scaled == DELETE and not is_in_range(statefulset, pod):
        return _pod(pod)
    return _set(statefulset) if deleted == DELETE else None


def _policy(statefulset: V1StatefulSet) -> tuple[str, str]:
    """Return the values of whenScaled and whenDeleted."""
    policy = statefulset.spec.persistent_volume_claim_retention_policy
    if policy is None:
        return RETAIN, RETAIN
    return policy.when_scaled or RETAIN, policy.when_deleted or RETAIN


def _is_stale(claim: V1PersistentVolumeClaim, owner: _Owner) -> bool:
    for reference in claim.metadata.owner_references or ():
        if owner.is_named_by(reference):
            return bool(reference.uid != owner.uid)
    return False


def _set(statefulset: V1StatefulSet) -> _Owner:
    return _owner(statefulset, "apps/v1", "StatefulSet")


def _pod(pod: V1Pod) -> _Owner:
    return _owner(pod, "v1", "Pod")


def _owner(obj: Any, api_version: str, kind: str) -> _Owner:
    return _Owner(api_version, kind, obj.metadata.name, obj.metadata.uid or "")
