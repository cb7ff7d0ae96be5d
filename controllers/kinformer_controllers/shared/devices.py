"""Claimants: pods and PodGroups as the controllers of ResourceClaims see them.

In: a pod or a PodGroup. Out: a :class:`Claimant`, with the few fields that say which claims it uses, and the decisions
about it and a claim. Nothing here asks the server. Most pods of a cluster use no claim, so the rest of a pod is not
decoded for this.

A claimant lists *entries*. An entry names a claim, or a template from which a claim is made for this one claimant. The
claimant's status tells the name of the claim that was made.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from kinformer.cache import SharedIndexInformer
from kinformer.meta import get_controller_of
from kinformer.models import (
    ResourceV1ResourceClaim,
    V1AllocationResult,
    V1alpha2PodGroup,
    V1Pod,
    V1ResourceClaimConsumerReference,
    V1ResourceClaimStatus,
)
from kinformer_controllers.shared.partly import partly

__all__ = (
    "GROUP_INDEX",
    "ClaimName",
    "ClaimNotMade",
    "Claimant",
    "Entry",
    "UnknownEntry",
    "add_group_index",
    "allocation_of",
    "asks_for_claims",
    "claimant_of_group",
    "claimant_of_pod",
    "consumer_kind",
    "group_of_pod",
    "groups_of_pod",
    "reservations_of",
)

#: The API group of PodGroups.
_SCHEDULING_GROUP: Final = "scheduling.k8s.io"
#: The index of pods by their PodGroup.
GROUP_INDEX: Final = "podgroup-members"
_GROUPS: Final = "podgroups"


class UnknownEntry(Exception):
    """An entry names neither a claim nor a template. A newer version of the API may have more ways."""


class ClaimNotMade(Exception):
    """The claim of an entry was not made from its template yet."""


class Entry(NamedTuple):
    """
    One claim that a claimant asks for.

    :param claim: the name of a claim that a user makes; None if there is a template
    :param template: the name of the template; None if there is a claim
    """

    name: str
    claim: str | None = None
    template: str | None = None


class ClaimName(NamedTuple):
    """
    The claim of an entry.

    :param name: None if it was decided that the entry needs no claim
    :param is_generated: whether it was made from a template. Then it counts only if the claimant owns it
    """

    name: str | None
    is_generated: bool


class Claimant(NamedTuple):
    """
    A pod or a PodGroup.

    :param kind: ``Pod`` or ``PodGroup``
    :param statuses: the names of the claims that were made, by the name of the entry
    :param is_deleted: whether it has a deletion timestamp
    :param phase: the pod's phase
    :param node: the node that the pod is bound to; empty if there is none
    :param group: the name of the PodGroup that the pod belongs to; empty if there is none
    :param extended: the name of the claim that the scheduler made for the pod's extended resources; empty if none
    """

    kind: str
    namespace: str
    name: str
    uid: str
    entries: tuple[Entry, ...] = ()
    statuses: Mapping[str, str | None] = {}
    is_deleted: bool = False
    phase: str = ""
    node: str = ""
    group: str = ""
    extended: str = ""

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def api_version(self) -> str:
        return "v1" if self.kind == "Pod" else f"{_SCHEDULING_GROUP}/v1alpha2"

    @property
    def uses_claims(self) -> bool:
        return bool(self.entries or self.extended)

    @property
    def is_done(self) -> bool:
        """Whether a pod's containers do not run, and never will."""
        return self.phase in ("Succeeded", "Failed") or (self.kind == "Pod" and self.is_deleted and not self.node)

    @property
    def reference(self) -> V1ResourceClaimConsumerReference:
        """The reference that a claim has while it is reserved for this claimant."""
        if self.kind == "Pod":
            return V1ResourceClaimConsumerReference(resource="pods", name=self.name, uid=self.uid)
        return V1ResourceClaimConsumerReference(
            api_group=_SCHEDULING_GROUP, resource=_GROUPS, name=self.name, uid=self.uid
        )

    def claim_of(self, entry: Entry) -> ClaimName:
        """
        Return the name of an entry's claim.

        :raises ClaimNotMade: if there is none yet
        :raises UnknownEntry: if the entry names neither a claim nor a template
        """
        if entry.claim is not None:
            return ClaimName(entry.claim, False)
        if entry.template is None:
            where = f'pod "{self.key}"' if self.kind == "Pod" else f"PodGroup {self.key}"
            name = f'"{entry.name}"' if self.kind == "Pod" else entry.name
            raise UnknownEntry(f"{where}, spec.resourceClaim {name}: none of the supported fields are set")
        if entry.name not in self.statuses:
            where = f'pod "{self.key}"' if self.kind == "Pod" else f"PodGroup {self.key}"
            raise ClaimNotMade(f"{where}: ResourceClaim not created yet")
        return ClaimName(self.statuses[entry.name], True)

    def claim_names(self) -> tuple[str, ...]:
        """The names of all claims of its entries that are known, each once."""
        found: dict[str, None] = {}
        for entry in self.entries:
            name = entry.claim if entry.claim is not None else self.statuses.get(entry.name)
            if name is not None:
                found[name] = None
        return tuple(found)

    def template_names(self) -> tuple[str, ...]:
        """The names of the templates of its entries, each once."""
        return tuple(dict.fromkeys(entry.template for entry in self.entries if entry.template is not None))

    def owns(self, claim: ResourceV1ResourceClaim, *, through_group: bool = False) -> bool:
        """
        Whether a claim was made for it.

        :param through_group: whether a claim that was made for a pod's PodGroup counts. A pod does not know the uid of
            its group, so the name decides
        """
        owner = get_controller_of(claim)
        if owner is None or claim.metadata.namespace != self.namespace:
            return False
        if owner.uid == self.uid:
            return True
        return (
            through_group
            and bool(self.group)
            and (owner.kind, owner.name) == ("PodGroup", self.group)
            and owner.api_version.startswith(f"{_SCHEDULING_GROUP}/")
        )

    def holds(self, claim: ResourceV1ResourceClaim, *, through_group: bool = False) -> bool:
        """Whether a claim is reserved for it. For `through_group`, see :meth:`owns`."""
        return any(
            it.uid == self.uid
            or (
                through_group
                and bool(self.group)
                and (it.api_group, it.resource, it.name) == (_SCHEDULING_GROUP, _GROUPS, self.group)
            )
            for it in reservations_of(claim)
        )

    def user_of(self, entry: Entry, group: Claimant | None) -> Claimant:
        """
        Return for whom the claim of an entry is made and reserved: the pod's PodGroup if it has the same entry.

        :param group: the PodGroup of this pod; None if it has none
        :raises UnknownEntry: if the entry names neither a claim nor a template
        """
        if entry.claim is None and entry.template is None:
            raise UnknownEntry(f"Pod {self.key} claim {entry.name}: none of the supported fields are set")
        return group if group is not None and entry in group.entries else self


def allocation_of(claim: ResourceV1ResourceClaim) -> V1AllocationResult | None:
    """Return the devices that a claim has; None if it has none yet."""
    status: V1ResourceClaimStatus | None = claim.status
    return status.allocation if status is not None else None


def reservations_of(claim: ResourceV1ResourceClaim) -> Sequence[V1ResourceClaimConsumerReference]:
    """Return for whom a claim is reserved."""
    status: V1ResourceClaimStatus | None = claim.status
    return (status.reserved_for if status is not None else None) or ()


def consumer_kind(reference: V1ResourceClaimConsumerReference, *, with_groups: bool) -> str:
    """Return ``Pod`` or ``PodGroup``; empty for users of which nothing is known here. Their reservations stay."""
    if not reference.api_group and reference.resource == "pods":
        return "Pod"
    if with_groups and (reference.api_group, reference.resource) == (_SCHEDULING_GROUP, _GROUPS):
        return "PodGroup"
    return ""


class _Entry(msgspec.Struct, rename="camel", gc=False):
    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class _SchedulingGroup(msgspec.Struct, rename="camel", gc=False):
    pod_group_name: str | None = None


class _Spec(msgspec.Struct, rename="camel", gc=False):
    node_name: str | None = None
    resource_claims: list[_Entry] | None = None
    scheduling_group: _SchedulingGroup | None = None


class _Made(msgspec.Struct, rename="camel", gc=False):
    name: str = ""
    resource_claim_name: str | None = None


class _Extended(msgspec.Struct, rename="camel", gc=False):
    resource_claim_name: str = ""


class _Status(msgspec.Struct, rename="camel", gc=False):
    phase: str | None = None
    resource_claim_statuses: list[_Made] | None = None
    extended_resource_claim_status: _Extended | None = None


_spec_of = partly(V1Pod, "spec", _Spec)


_status_of = partly(V1Pod, "status", _Status)


def claimant_of_pod(pod: V1Pod) -> Claimant:
    """Read a pod."""
    meta, spec, status = pod.metadata, _spec_of(pod), _status_of(pod)
    group = spec.scheduling_group if spec is not None else None
    extended = status.extended_resource_claim_status if status is not None else None
    return Claimant(
        "Pod",
        meta.namespace or "",
        meta.name,
        meta.uid or "",
        _entries(spec.resource_claims if spec is not None else None),
        _made(status.resource_claim_statuses if status is not None else None),
        meta.deletion_timestamp is not None,
        (status.phase if status is not None else None) or "",
        (spec.node_name if spec is not None else None) or "",
        (group.pod_group_name if group is not None else None) or "",
        extended.resource_claim_name if extended is not None else "",
    )


def asks_for_claims(pod: V1Pod) -> bool:
    """Whether a pod has entries. Nearly none has, and this takes a tenth of the time of :func:`claimant_of_pod`."""
    spec = _spec_of(pod)
    return spec is not None and bool(spec.resource_claims)


def claimant_of_group(group: V1alpha2PodGroup) -> Claimant:
    """Read a PodGroup."""
    meta, status = group.metadata, group.status
    return Claimant(
        "PodGroup",
        meta.namespace or "",
        meta.name,
        meta.uid or "",
        _entries(group.spec.resource_claims),
        _made(status.resource_claim_statuses if status is not None else None),
        meta.deletion_timestamp is not None,
    )


def _entries(found: Iterable[Any] | None) -> tuple[Entry, ...]:
    return tuple(Entry(it.name, it.resource_claim_name, it.resource_claim_template_name) for it in found or ())


def _made(found: Iterable[Any] | None) -> Mapping[str, str | None]:
    # The first of two with the same name counts.
    made: dict[str, str | None] = {}
    for it in found or ():
        made.setdefault(it.name, it.resource_claim_name)
    return made


def add_group_index(informer: SharedIndexInformer[V1Pod]) -> None:
    """Add the index of pods by their PodGroup. If the informer already has it, nothing happens."""
    if GROUP_INDEX not in informer.indexer.get_indexers():
        informer.add_indexers({GROUP_INDEX: groups_of_pod})


def group_of_pod(pod: V1Pod) -> str:
    """Return the key of a pod's PodGroup; empty if it has none."""
    spec = _spec_of(pod)
    group = spec.scheduling_group if spec is not None else None
    return (
        f"{pod.metadata.namespace or ''}/{group.pod_group_name}" if group is not None and group.pod_group_name else ""
    )


def groups_of_pod(pod: V1Pod) -> tuple[str, ...]:
    """Return the key of a pod's PodGroup, if it has one."""
    group = group_of_pod(pod)
    return (group,) if group else ()
