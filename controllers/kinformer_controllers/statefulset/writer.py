"""Writing the pods of a StatefulSet and their claims, and recording Events.

In: a pod as it should be. Out: first its claims are written, then the pod; claims get the owners of the retention
policy.
"""

from __future__ import annotations

import copy
from typing import Any, TypeVar

from kinformer.cache import Indexer
from kinformer.client import Client
from kinformer.client.errors import AlreadyExists, Conflict, NotFound
from kinformer.logs import get_logger
from kinformer.manager import SyncError
from kinformer.models import V1PersistentVolumeClaim, V1Pod, V1StatefulSet
from kinformer.record import NORMAL, WARNING, EventRecorder
from kinformer_controllers.statefulset.pods import (
    claim_name,
    claims_of,
    has_identity,
    has_storage,
    ordinal_of,
    set_identity,
    set_storage,
)
from kinformer_controllers.statefulset.retention import (
    deletes_on_scale_down,
    has_conflicting_controller,
    is_stale_for,
    owners_match,
    wanted_owners,
)

__all__ = ("ClaimError", "StatefulPodWriter")

log = get_logger(__name__)

#: The number of tries of an update. After a conflict, the pod is read again.
_UPDATE_TRIES = 4

T = TypeVar("T")


class ClaimError(SyncError):
    """A claim of a pod could not be created, or is being deleted."""


class StatefulPodWriter:
    """
    Creates, updates and deletes the pods of StatefulSets.

    :param claims: the cache of claims
    """

    def __init__(
        self,
        client: Client,
        claims: Indexer[V1PersistentVolumeClaim],
        recorder: EventRecorder,
    ) -> None:
        self._pods = client.resource(V1Pod)
        self._claims = client.resource(V1PersistentVolumeClaim)
        self._cached_claims = claims
        self._recorder = recorder

    def has_stale_claim(self, statefulset: V1StatefulSet, pod: V1Pod) -> bool:
        """
        Whether a claim of the pod will be deleted with an earlier pod of the same name.

        Such a pod is not created yet, because it would lose its storage.
        """
        if not deletes_on_scale_down(statefulset):
            return False
        return any(is_stale_for(claim, pod) for claim in self._claims_there(statefulset, pod))

    def claims_are_right(self, statefulset: V1StatefulSet, pod: V1Pod) -> bool:
        """Whether the pod's claims have the owners of the retention policy. Missing claims are ignored."""
        return all(owners_match(claim, statefulset, pod) for claim in self._claims_there(statefulset, pod))

    async def create(self, statefulset: V1StatefulSet, pod: V1Pod) -> None:
        """
        Create a pod's claims, and then the pod.

        :raises AlreadyExists: if there is a pod with that name; then no Event is recorded
        :raises ClaimError: if a claim could not be created
        :raises ClientError: if the server refuses the pod
        """
        try:
            await self._create_claims(statefulset, pod)
        except Exception as error:
            self._tell("create", statefulset, pod, error)
            raise
        failure: Exception | None = None
        try:
            await self._pods.create(pod)
        except AlreadyExists:
            raise
        except Exception as error:
            failure = error
        await self._own_claims_or_tell(statefulset, pod)
        self._tell("create", statefulset, pod, failure)
        if failure is not None:
            raise failure

    async def create_missing_claims(self, statefulset: V1StatefulSet, pod: V1Pod) -> None:
        """
        Create the claims that a pod is waiting for.

        :raises ClaimError: if a claim could not be created
        """
        await self._create_claims(statefulset, pod)
        await self._own_claims_or_tell(statefulset, pod)

    async def update(self, statefulset: V1StatefulSet, pod: V1Pod) -> None:
        """
        Correct a pod's identity, storage and claims. The object that is passed is not changed.

        :raises ClaimError: if a claim could not be created
        :raises Conflict: if all tries met a conflict
        """
        attempted = False
        failure: Exception | None = None
        for tries_left in reversed(range(_UPDATE_TRIES)):
            pod = copy.deepcopy(pod)
            if not await self._bring_into_line(statefulset, pod):
                failure = None
                break
            attempted = True
            try:
                await self._pods.update(pod)
                failure = None
                break
            except Conflict as error:
                failure = error
                if tries_left:
                    pod = await self._pods.get(pod.metadata.name, statefulset.metadata.namespace)
            except Exception as error:
                failure = error
                break
        if attempted:
            self._tell("update", statefulset, pod, failure)
        if failure is not None:
            raise failure

    async def delete(self, statefulset: V1StatefulSet, pod: V1Pod) -> None:
        """Delete a pod. It is no error if it is already gone."""
        try:
            await self._pods.delete(pod.metadata.name, pod.metadata.namespace)
        except NotFound:
            pass
        except Exception as error:
            self._tell("delete", statefulset, pod, error)
            raise
        self._tell("delete", statefulset, pod, None)

    async def own_claims(self, statefulset: V1StatefulSet, pod: V1Pod) -> None:
        """Set the owners of a pod's claims by the retention policy."""
        for claim in self._claims_there(statefulset, pod):
            name = claim.metadata.name
            if has_conflicting_controller(claim, statefulset, pod):
                message = (
                    f"PersistentVolumeClaim {name} has a conflicting OwnerReference that acts as a manging controller, "
                    "the retention policy is ignored for this claim"  # spelt as in Kubernetes
                )
                self._recorder.event(statefulset, WARNING, "ConflictingController", message)
            if owners_match(claim, statefulset, pod):
                continue
            written = copy.copy(claim)
            written.metadata = copy.copy(claim.metadata)
            written.metadata.owner_references = wanted_owners(claim, statefulset, pod)
            try:
                await self._claims.update(written)
            except Exception as error:
                raise ClaimError(f"could not update claim {name} for delete policy ownerRefs: {error}") from error

    async def _bring_into_line(self, statefulset: V1StatefulSet, pod: V1Pod) -> bool:
        """Correct the caller's own copy of a pod. Returns whether anything was wrong."""
        changed = False
        if not has_identity(statefulset, pod):
            set_identity(statefulset, pod, ordinal_of(pod))
            changed = True
        try:
            if not has_storage(statefulset, pod):
                set_storage(statefulset, pod)
                changed = True
                await self._create_claims(statefulset, pod)
            if not self.claims_are_right(statefulset, pod):
                await self.own_claims(statefulset, pod)
                changed = True
        except Exception as error:
            self._tell("update", statefulset, pod, error)
            raise
        return changed

    async def _create_claims(self, statefulset: V1StatefulSet, pod: V1Pod) -> None:
        problems = []
        for claim in claims_of(statefulset, pod).values():
            meta = claim.metadata
            there = self._cached_claims.get_by_key(f"{meta.namespace}/{meta.name}")
            if there is not None:
                if there.metadata.deletion_timestamp:
                    problems.append(f"pvc {meta.name} is being deleted")
                continue
            failure: Exception | None = None
            try:
                await self._claims.create(claim)
            except Exception as error:
                failure = error
                problems.append(f"failed to create PVC {meta.name}: {error}")
            if not isinstance(failure, AlreadyExists):
                self._tell_of_claim(statefulset, pod, meta.name, failure)
        if problems:
            raise ClaimError(problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")

    async def _own_claims_or_tell(self, statefulset: V1StatefulSet, pod: V1Pod) -> None:
        try:
            await self.own_claims(statefulset, pod)
        except Exception as error:
            self._tell("update", statefulset, pod, error)
            raise

    def _claims_there(self, statefulset: V1StatefulSet, pod: V1Pod) -> list[V1PersistentVolumeClaim]:
        """Return the pod's claims that are in the cache."""
        ordinal, namespace = ordinal_of(pod), statefulset.metadata.namespace
        names = (
            claim_name(statefulset, template, ordinal) for template in statefulset.spec.volume_claim_templates or ()
        )
        found = (self._cached_claims.get_by_key(f"{namespace}/{name}") for name in names)
        return [claim for claim in found if claim is not None]

    def _tell(self, verb: str, statefulset: V1StatefulSet, pod: V1Pod, error: Exception | None) -> None:
        what = f"{verb.title()} Pod {pod.metadata.name} in StatefulSet {statefulset.metadata.name}"
        self._record(verb, statefulset, f"{what} successful", f"{what} failed error: {error}", error)

    def _tell_of_claim(self, statefulset: V1StatefulSet, pod: V1Pod, claim: str, error: Exception | None) -> None:
        where = f"Pod {pod.metadata.name} in StatefulSet {statefulset.metadata.name}"
        done, failed = (
            f"Create Claim {claim} {where} success",
            f"Create Claim {claim} for {where} failed error: {error}",
        )
        self._record("create", statefulset, done, failed, error)

    def _record(self, verb: str, about: Any, done: str, failed: str, error: Exception | None) -> None:
        if error is None:
            self._recorder.event(about, NORMAL, f"Successful{verb.title()}", done)
        else:
            self._recorder.event(about, WARNING, f"Failed{verb.title()}", failed)
