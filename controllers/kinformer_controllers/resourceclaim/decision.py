"""Deciding about claims. Pure functions: pods, PodGroups, claims and templates in, a decision or a new object out.

A claim is *reserved for* the pods that use it. As long as it is, it stays allocated. When the last of them has ended,
the allocation is removed, so that the devices are free for other claims. Then the claim also loses its finalizer.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from kinformer.controllerutil.finalizers import has_finalizer, without_finalizers
from kinformer.models import (
    ResourceV1ResourceClaim,
    V1DeviceRequest,
    V1ObjectMeta,
    V1OwnerReference,
    V1ResourceClaimConsumerReference,
    V1ResourceClaimSpec,
    V1ResourceClaimStatus,
    V1ResourceClaimTemplate,
)
from kinformer_controllers.shared.devices import (
    Claimant,
    ClaimNotMade,
    Entry,
    UnknownEntry,
    allocation_of,
    reservations_of,
)

__all__ = (
    "EXTENDED_CLAIM",
    "FINALIZER",
    "POD_CLAIM",
    "Use",
    "asks_for_admin_access",
    "can_be_reserved",
    "claims_to_release",
    "has_prioritized_list",
    "needs_sync",
    "new_claim",
    "owning_pod",
    "released",
    "reserved",
    "use_of",
    "without_allocation",
    "without_finalizer",
)

#: The annotation of a generated claim: the name of the pod's entry.
POD_CLAIM: Final = "resource.kubernetes.io/pod-claim-name"
#: The annotation of a claim that the scheduler made for extended resources.
EXTENDED_CLAIM: Final = "resource.kubernetes.io/extended-resource-claim"
#: Keeps a claim while it is allocated.
FINALIZER: Final = "resource.kubernetes.io/delete-protection"
#: The longest prefix of a generated name: a name has at most 63 characters, and a hyphen and 5 letters follow.
_LONGEST_PREFIX: Final = 57

Claim = ResourceV1ResourceClaim


def claims_to_release(claimant: Claimant, *, is_gone: bool) -> tuple[str, ...]:
    """
    Return the names of the claims that a changed claimant may no longer need. A PodGroup needs them until it is gone.

    :param is_gone: whether it was deleted from the server
    """
    if not is_gone and not claimant.is_done:
        return ()
    names = claimant.claim_names()
    return (*names, claimant.extended) if claimant.extended else names


def needs_sync(
    claimant: Claimant,
    claim_named: Callable[[str], Claim | None],
    group: Callable[[], Claimant | None],
    *,
    with_groups: bool,
) -> bool:
    """
    Whether a claim has to be made for a claimant, or reserved for it. PodGroups do not get reservations here.

    :param claim_named: returns a claim of its namespace
    :param group: returns the PodGroup of a pod, None if it has none. It raises LookupError if the group is missing
    :param with_groups: whether a claim of the pod's PodGroup counts as the pod's
    """
    if claimant.is_deleted or claimant.is_done:
        return False
    for entry in claimant.entries:
        try:
            name, is_generated = claimant.claim_of(entry)
        except (ClaimNotMade, UnknownEntry):
            return True  # the sync makes the claim, or reports the entry
        if name is None:
            continue
        claim = claim_named(name)
        if claim is None:
            if entry.template is None:
                continue  # the user makes it
            try:
                if claimant.user_of(entry, group()) is claimant:
                    return True
            except LookupError:
                return True
            continue  # the sync of the PodGroup makes it
        if is_generated and not claimant.owns(claim, through_group=with_groups):
            continue  # nothing can be done before that other claim is deleted
        if can_be_reserved(claimant, claim, with_groups=with_groups):
            return True
    return False


def can_be_reserved(claimant: Claimant, claim: Claim, *, with_groups: bool) -> bool:
    """Whether a claim is allocated, and has yet to be reserved for a pod that is on a node."""
    return (
        bool(claimant.node)
        and allocation_of(claim) is not None
        and not claimant.holds(claim, through_group=with_groups)
    )


# Making claims


def new_claim(claimant: Claimant, entry: Entry, template: V1ResourceClaimTemplate) -> Claim:
    """Make the claim of an entry. The server completes its name."""
    inside: V1ObjectMeta | None = template.spec.metadata
    owner = V1OwnerReference(
        api_version=claimant.api_version,
        kind=claimant.kind,
        name=claimant.name,
        uid=claimant.uid,
        controller=True,
    )
    annotations = (inside.annotations if inside is not None else None) or {}
    return Claim(
        metadata=V1ObjectMeta(
            generate_name=_prefix(claimant.name, entry.name),
            namespace=claimant.namespace,
            owner_references=[owner],
            annotations={**annotations, POD_CLAIM: entry.name},
            labels=inside.labels if inside is not None else None,
        ),
        spec=template.spec.spec,
    )


def _prefix(owner: str, entry: str) -> str:
    """The prefix of a generated name. If it is too long, both parts lose letters in proportion to their length."""
    whole = f"{owner}-{entry}-"
    if len(whole) <= _LONGEST_PREFIX:
        return whole
    return "-".join(part[: len(part) * _LONGEST_PREFIX // len(whole)] for part in (owner, entry))


def asks_for_admin_access(claim: Claim) -> bool:
    """Whether a request of a claim wants to look after devices, also while others use them."""
    return any(it.exactly is not None and bool(it.exactly.admin_access) for it in _requests(claim.spec))


def has_prioritized_list(template: V1ResourceClaimTemplate) -> bool:
    """Whether a request of a template names several kinds of devices, of which the first that is free is taken."""
    return any(it.first_available for it in _requests(template.spec.spec))


# Releasing claims


class Use(enum.Enum):
    """Whether the user in a reservation still uses the claim, as far as the cache shows it."""

    USED = "used"
    ENDED = "ended"
    UNKNOWN = "unknown"  # the server has to be asked


def use_of(uid: str, user: Claimant | None) -> Use:
    """
    Decide about one user of a claim.

    The cache may be older than the claim. So a user that is missing there, or has another uid, may still exist.

    :param uid: the uid that the claim names
    :param user: the pod or PodGroup of that name in the cache; None if there is none
    """
    if user is None or user.uid != uid:
        return Use.UNKNOWN
    return Use.ENDED if user.is_done else Use.USED


def reserved(claim: Claim, user: V1ResourceClaimConsumerReference) -> Claim:
    """A claim with one more reservation."""
    return _with_status(claim, reserved_for=[*reservations_of(claim), user])


def released(claim: Claim, remaining: list[V1ResourceClaimConsumerReference]) -> Claim:
    """
    A claim with fewer reservations. With the last of them, it loses its allocation.

    A claim without this controller's finalizer was allocated by something else, and keeps the allocation.
    """
    changed = _with_status(claim, reserved_for=remaining or None)
    return without_allocation(changed) if not remaining and has_finalizer(claim, FINALIZER) else changed


def without_allocation(claim: Claim) -> Claim:
    """A claim that has no devices any more."""
    return _with_status(claim, allocation=None)


def without_finalizer(claim: Claim) -> Claim:
    """A claim that may be deleted."""
    kept = without_finalizers(claim.metadata.finalizers, FINALIZER) or None
    return msgspec.structs.replace(claim, metadata=msgspec.structs.replace(claim.metadata, finalizers=kept))


def owning_pod(claim: Claim) -> V1OwnerReference | None:
    """Return the pod that a claim was made for; None if it was not made for a pod."""
    for owner in claim.metadata.owner_references or ():
        if owner.controller and (owner.api_version, owner.kind) == ("v1", "Pod"):
            return owner
    return None


def _requests(spec: V1ResourceClaimSpec) -> Sequence[V1DeviceRequest]:
    return (spec.devices.requests if spec.devices is not None else None) or ()


def _with_status(claim: Claim, **fields: Any) -> Claim:
    status: V1ResourceClaimStatus | None = claim.status
    changed = V1ResourceClaimStatus(**fields) if status is None else msgspec.structs.replace(status, **fields)
    return msgspec.structs.replace(claim, status=changed)
