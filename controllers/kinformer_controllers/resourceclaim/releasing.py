"""Syncing claims: removes the reservations of pods that have ended, and with the last one the allocation.

In: a claim in the cache, and pods. Out: writes to the claim, in Kubernetes' order: the status, then the finalizer, then
the deletion of a claim that was made for a pod. Promised: a reservation is removed, and a claim deleted, only for a pod
that has ended or is known to be gone. If the cache does not show the pod, the server is asked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kinformer.client import Client, DeleteOptions, Preconditions, Resource
from kinformer.client.errors import NotFound
from kinformer.controllerutil.finalizers import has_finalizer
from kinformer.lru import LRU
from kinformer.models import ResourceV1ResourceClaim, V1alpha2PodGroup, V1OwnerReference, V1Pod
from kinformer_controllers.resourceclaim import decision
from kinformer_controllers.resourceclaim.decision import FINALIZER, Use, use_of
from kinformer_controllers.shared.devices import Claimant, allocation_of, consumer_kind, reservations_of

__all__ = ("ClaimSync", "Users")

Claim = ResourceV1ResourceClaim

#: How many uids of deleted pods are remembered, as in Kubernetes.
_REMEMBERED = 500


class Users:
    """
    The pods and PodGroups that claims may be reserved for.

    :param client: asks the server about those that the cache does not show
    :param cached: returns a user of this kind and key from the cache; None if there is none
    """

    def __init__(self, client: Client, cached: Callable[[str, str], Claimant | None]) -> None:
        self._servers: dict[str, Resource[Any]] = {
            "Pod": client.resource(V1Pod),
            "PodGroup": client.resource(V1alpha2PodGroup),
        }
        self._cached = cached
        self._gone: LRU[str, bool] = LRU(_REMEMBERED)

    def saw_deletion(self, user: Claimant) -> None:
        """Note that this user does not exist any more, so that the server need not be asked."""
        self._gone.put(user.uid, user.is_done)

    def is_known(self, kind: str, key: str, uid: str) -> bool:
        """Whether the cache has a user of that name, or this one had ended when its deletion was seen."""
        return bool(self._gone.get(uid)) or self._cached(kind, key) is not None

    async def has_ended(self, kind: str, key: str, uid: str) -> bool:
        """
        Whether a user does not use its claims any more, or is gone.

        :param uid: which of the users that had this name, one after the other
        :raises ClientError: if the server was asked, and did not answer
        """
        if self._gone.get(uid) is not None:
            return True
        found = use_of(uid, self._cached(kind, key))
        return await self._is_gone(kind, key, uid) if found is Use.UNKNOWN else found is Use.ENDED

    async def _is_gone(self, kind: str, key: str, uid: str) -> bool:
        namespace, _, name = key.partition("/")
        try:
            there = await self._servers[kind].get(name, namespace)
        except NotFound:
            return True
        return bool(there.metadata.uid != uid)


class ClaimSync:
    """
    Syncs one claim at a time.

    :param with_groups: whether reservations of PodGroups are looked at
    """

    def __init__(self, client: Client, users: Users, *, with_groups: bool) -> None:
        self._server = client.resource(ResourceV1ResourceClaim)
        self._users = users
        self._with_groups = with_groups

    async def sync(self, claim: Claim) -> None:
        """
        Remove the reservations that are over, and what follows from that.

        :raises Conflict: if the claim has changed since the cache got it
        :raises ClientError: if the server refuses a request
        """
        there = reservations_of(claim)
        remaining = [it for it in there if not await self._is_over(claim, it)]
        if len(remaining) < len(there):
            written = await self._server.update_status(decision.released(claim, remaining))
            if has_finalizer(written, FINALIZER) and allocation_of(written) is None:
                await self._server.update(decision.without_finalizer(written))
        elif has_finalizer(claim, FINALIZER) and claim.metadata.deletion_timestamp is not None and not remaining:
            written = claim
            if allocation_of(claim) is not None:
                written = await self._server.update_status(decision.without_allocation(claim))
            await self._server.update(decision.without_finalizer(written))
        if not remaining and (owner := decision.owning_pod(claim)) is not None:
            await self._delete_if_unused(claim, owner)

    async def _is_over(self, claim: Claim, reference: Any) -> bool:
        kind = consumer_kind(reference, with_groups=self._with_groups)
        if not kind:
            return False
        return await self._users.has_ended(kind, f"{claim.metadata.namespace}/{reference.name}", reference.uid)

    async def _delete_if_unused(self, claim: Claim, owner: V1OwnerReference) -> None:
        """Delete a claim whose pod has ended. That of a pod that ran and is gone is left to the garbage collector."""
        meta = claim.metadata
        key = f"{meta.namespace}/{owner.name}"
        is_known = self._users.is_known("Pod", key, owner.uid)
        if not is_known or not await self._users.has_ended("Pod", key, owner.uid):
            return
        try:
            await self._server.delete(
                meta.name, meta.namespace, DeleteOptions(preconditions=Preconditions(uid=meta.uid))
            )
        except NotFound:
            return  # it is gone, and the cache does not show this yet
