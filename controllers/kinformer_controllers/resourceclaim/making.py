"""Syncing pods and PodGroups: makes their claims from templates, and reserves claims for pods that are on a node.

In: a claimant, and the caches. Out: claims are created, their names are applied to the claimant's status, and claims
are reserved. Promised: a claim is made once for each entry, because a key waits until the cache shows the claims
of its last sync. Claims are found by owner and annotation, so a claim that was made before a restart is used, too.

Usually the scheduler reserves claims. Pods that are made with a node do not pass the scheduler.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from kinformer.cache import Indexer
from kinformer.client import Client, Resource
from kinformer.client.errors import ClientError
from kinformer.manager import SyncError
from kinformer.models import ResourceV1ResourceClaim, V1alpha2PodGroup, V1Pod, V1ResourceClaimTemplate
from kinformer.record import WARNING, EventRecorder
from kinformer_controllers.resourceclaim import decision
from kinformer_controllers.resourceclaim.decision import POD_CLAIM
from kinformer_controllers.resourceclaim.metrics import count_create
from kinformer_controllers.shared.devices import Claimant, ClaimNotMade, Entry, UnknownEntry

__all__ = ("FIELD_MANAGER", "OWNER_INDEX", "ClaimMaker", "owner_values")

#: The field manager of the names in a status.
FIELD_MANAGER: Final = "ResourceClaimController"
#: The index of claims by the uid of the pod or PodGroup that they were made for.
OWNER_INDEX: Final = "claim-owner"

Claim = ResourceV1ResourceClaim


def owner_values(claim: Claim) -> list[str]:
    """The values of :data:`OWNER_INDEX` for a claim."""
    return [owner.uid for owner in claim.metadata.owner_references or () if owner.controller]


class ClaimMaker:
    """
    :param claims: the cache of claims, with :data:`OWNER_INDEX`
    :param templates: the cache of templates
    :param group_of: returns a pod's PodGroup, None if it has none. It raises LookupError if the group is missing
    :param with_groups: whether a claim of the pod's PodGroup counts as the pod's
    :param with_lists: whether templates may have prioritized lists
    """

    def __init__(
        self,
        client: Client,
        claims: Indexer[Claim],
        templates: Indexer[V1ResourceClaimTemplate],
        recorder: EventRecorder,
        group_of: Callable[[Claimant], Claimant | None],
        *,
        with_groups: bool,
        with_lists: bool,
    ) -> None:
        self._server = client.resource(Claim)
        self._statuses: dict[str, Resource[Any]] = {
            "Pod": client.resource(V1Pod),
            "PodGroup": client.resource(V1alpha2PodGroup),
        }
        self._claims, self._templates = claims, templates
        self._recorder = recorder
        self._group_of = group_of
        self._with_groups, self._with_lists = with_groups, with_lists

    async def sync(self, claimant: Claimant, obj: V1Pod | V1alpha2PodGroup) -> None:
        """
        Make the claims that are missing. Then reserve the claims of a pod that is on a node.

        :param obj: the pod or PodGroup, for Events
        :raises SyncError: if a claim cannot be made; an Event says why
        :raises ClientError: if the server refuses a request
        """
        if claimant.is_deleted or claimant.is_done:
            return
        try:
            group = self._group_of(claimant)
        except LookupError as error:
            raise SyncError(str(error)) from error
        names: dict[str, str | None] = {}
        for entry in claimant.entries:
            try:
                name = await self._claim_for(claimant, group, entry)
            except ClientError as error:
                # The claim has no name yet, so Kubernetes' text has an empty one.
                self._report(obj, claimant, entry, f"create ResourceClaim : {error}")
                raise
            except SyncError as error:
                self._report(obj, claimant, entry, str(error))
                raise
            if name is not None:
                names[entry.name] = name
        if names:
            await self._tell(claimant, names)
        if claimant.node:
            await self._reserve(claimant, group)

    def _report(self, obj: V1Pod | V1alpha2PodGroup, claimant: Claimant, entry: Entry, problem: str) -> None:
        message = f"{claimant.kind}ResourceClaim {entry.name}: {problem}"
        self._recorder.event(obj, WARNING, "FailedResourceClaimCreation", message)

    async def _claim_for(self, claimant: Claimant, group: Claimant | None, entry: Entry) -> str | None:
        """Return the name of an entry's claim, which may be a new one; None if there is nothing to write down."""
        try:
            known = claimant.claim_of(entry).name
        except ClaimNotMade:
            pass
        except UnknownEntry as error:
            raise SyncError(f"checking for claim before creating it: {error}") from error
        else:
            claim = self._claims.get_by_key(f"{claimant.namespace}/{known}") if known is not None else None
            if known is None or (claim is not None and self._is_of(claim, claimant, entry)):
                return None
        if entry.template is None:
            return None
        user = claimant.user_of(entry, group)
        found = self._find(user, entry)
        if found is None and user is claimant:
            found = await self._make(claimant, entry)
        return found.metadata.name if found is not None else None

    def _is_of(self, claim: Claim, claimant: Claimant, entry: Entry) -> bool:
        return entry.claim is not None or claimant.owns(claim, through_group=self._with_groups)

    def _find(self, owner: Claimant, entry: Entry) -> Claim | None:
        """A claim that was made for an entry before. If there are several, the others go with their owner."""
        for claim in self._claims.by_index(OWNER_INDEX, owner.uid):
            if (claim.metadata.annotations or {}).get(POD_CLAIM) == entry.name and owner.owns(claim):
                return claim
        return None

    async def _make(self, claimant: Claimant, entry: Entry) -> Claim:
        template = self._templates.get_by_key(f"{claimant.namespace}/{entry.template}")
        if template is None:
            missing = f'resourceclaimtemplate.resource.k8s.io "{entry.template}" not found'
            raise SyncError(f'resource claim template "{entry.template}": {missing}')
        if not self._with_lists and decision.has_prioritized_list(template):
            raise SyncError("template includes a prioritized list of subrequests, but the feature is disabled")
        wanted = decision.new_claim(claimant, entry, template)
        try:
            claim = await self._server.create(wanted)
        except ClientError:
            count_create(wanted, "failure")
            raise
        count_create(wanted, "success")
        return claim

    async def _tell(self, claimant: Claimant, names: dict[str, str | None]) -> None:
        """
        Apply the names of claims to the status.

        The names that were applied before are applied again: the server would remove those that are left out.
        """
        known = {
            entry.name: claimant.statuses[entry.name] for entry in claimant.entries if entry.name in claimant.statuses
        }
        statuses = [
            {"name": entry, "resourceClaimName": name} if name is not None else {"name": entry}
            for entry, name in {**known, **names}.items()
        ]
        body = {
            "apiVersion": claimant.api_version,
            "kind": claimant.kind,
            "metadata": {"name": claimant.name, "namespace": claimant.namespace, "uid": claimant.uid},
            "status": {"resourceClaimStatuses": statuses},
        }
        await self._statuses[claimant.kind].apply(body, field_manager=FIELD_MANAGER, force=True, subresource="status")

    async def _reserve(self, pod: Claimant, group: Claimant | None) -> None:
        for entry in pod.entries:
            try:
                name, is_generated = pod.claim_of(entry)
            except ClaimNotMade:
                return  # it was made just now. The change of the pod's status causes the next sync
            if name is None:
                continue
            claim = self._claims.get_by_key(f"{pod.namespace}/{name}")
            if claim is None:
                return
            if is_generated and not pod.owns(claim, through_group=self._with_groups):
                raise SyncError(f"ResourceClaim {pod.namespace}/{name} was not created for Pod {pod.key}")
            if decision.can_be_reserved(pod, claim, with_groups=self._with_groups):
                await self._server.update_status(decision.reserved(claim, pod.user_of(entry, group).reference))
