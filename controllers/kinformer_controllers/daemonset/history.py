"""The revisions of a DaemonSet: one for each template that its pods have had, for ``kubectl rollout undo``.

In: a DaemonSet and its ControllerRevisions, with the orphans. Out: the current revision, which is created if it is
missing, and the old ones. Promised: there is one current revision, and its number is the highest.
"""

from __future__ import annotations

import copy
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kinformer.cache import SharedIndexInformer
from kinformer.client import Client, PatchType
from kinformer.client.errors import AlreadyExists, NotFound
from kinformer.controllerutil.claiming import ControllerRefManager
from kinformer.controllerutil.owning import owned_by
from kinformer.logs import get_logger
from kinformer.manager import SyncError
from kinformer.meta import Selector, new_controller_ref
from kinformer.models import (
    V1ControllerRevision,
    V1DaemonSet,
    V1DaemonSetStatus,
    V1ObjectMeta,
    V1Pod,
    to_dict,
)
from kinformer_controllers.daemonset.template import HASH_LABEL, KIND
from kinformer_controllers.shared.history.hashing import template_hash
from kinformer_controllers.shared.history.revisions import (
    RevisionHistory,
    next_revision,
    number_of,
    template_patch,
    with_bytes,
)

__all__ = ("DaemonSetHistory", "History")

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class History:
    """
    The revisions of one DaemonSet.

    :ivar current: the revision of the current template
    :ivar old: the other revisions
    """

    current: V1ControllerRevision
    old: list[V1ControllerRevision]

    @property
    def hash(self) -> str:
        """The label value of the pods with the current template."""
        return _hash_of(self.current)


class DaemonSetHistory:
    """
    Finds, creates and deletes the revisions of DaemonSets.

    :param informer: of ControllerRevisions; it gets an index by controller
    """

    def __init__(self, client: Client, informer: SharedIndexInformer[V1ControllerRevision]) -> None:
        self._history = RevisionHistory(client, KIND, informer)
        self._cached = informer.indexer
        self._revisions = client.resource(V1ControllerRevision)
        self._daemonsets = client.resource(V1DaemonSet)
        self._pods = client.resource(V1Pod)

    async def of(
        self,
        daemonset: V1DaemonSet,
        selector: Selector,
        can_adopt: Callable[[], Awaitable[object]],
        pods: Callable[[], Awaitable[Sequence[V1Pod]]],
    ) -> History:
        """
        Return the revisions of a DaemonSet. The current one is created if it is missing.

        :param can_adopt: awaited before the first adoption; raises an error if nothing may be adopted
        :param pods: returns the DaemonSet's pods; called only if several revisions have the same data and are merged
        :raises ClientError: if a revision could not be written
        """
        manager: ControllerRefManager[V1ControllerRevision] = ControllerRefManager(
            daemonset, KIND, selector, self._history.patch, can_adopt
        )
        wanted = template_patch(daemonset.spec.template)
        current: list[V1ControllerRevision] = []
        old: list[V1ControllerRevision] = []
        for revision in await manager.claim(owned_by(self._cached, daemonset, KIND.kind)):
            labelled = await self._labelled(revision)
            (current if labelled.data == wanted else old).append(labelled)
        number = next_revision(old)
        if not current:
            return History(await self._create(daemonset, wanted, number), old)
        kept = max(current, key=number_of)
        if len(current) > 1:
            await self._merge(kept, current, await pods())
        if number_of(kept) < number:
            kept = await self._history.renumber(kept, number)
        return History(kept, old)

    async def truncate(self, daemonset: V1DaemonSet, history: History, there: Mapping[str, Iterable[V1Pod]]) -> None:
        """
        Delete the oldest revisions that no pod uses, until only ``revisionHistoryLimit`` old ones are left.

        :param there: the DaemonSet's pods by node, including those that have ended
        """
        limit = daemonset.spec.revision_history_limit
        surplus = len(history.old) - (10 if limit is None else limit)
        live = {(pod.metadata.labels or {}).get(HASH_LABEL) for pods in there.values() for pod in pods}
        for revision in sorted(history.old, key=number_of):
            if surplus <= 0:
                return
            if _hash_of(revision) in live:
                continue
            try:
                await self._history.delete(revision)
            except NotFound:
                log.debug("revision_already_deleted", revision=revision.metadata.name)
            surplus -= 1

    async def _labelled(self, revision: V1ControllerRevision) -> V1ControllerRevision:
        """Add the label with the hash, if the revision has none. Old versions of Kubernetes did not set it."""
        if HASH_LABEL in (revision.metadata.labels or {}):
            return revision
        changed = with_bytes(revision)
        changed.metadata = copy.copy(revision.metadata)
        changed.metadata.labels = {**(revision.metadata.labels or {}), HASH_LABEL: revision.metadata.name}
        return await self._revisions.update(changed)

    async def _create(self, daemonset: V1DaemonSet, data: dict[str, Any], number: int) -> V1ControllerRevision:
        meta, template = daemonset.metadata, daemonset.spec.template
        collisions = daemonset.status.collision_count if daemonset.status is not None else None
        hash_ = template_hash(to_dict(template), collisions)
        labels = (template.metadata.labels if template.metadata is not None else None) or {}
        revision = V1ControllerRevision(
            api_version="apps/v1",
            kind="ControllerRevision",
            metadata=V1ObjectMeta(
                name=f"{meta.name}-{hash_}",
                namespace=meta.namespace,
                labels={**labels, HASH_LABEL: hash_},
                owner_references=[new_controller_ref(daemonset, KIND)],
            ),
            data=data,
            revision=number,
        )
        if meta.annotations:
            revision.metadata.annotations = dict(meta.annotations)
        try:
            return await self._revisions.create(with_bytes(revision, is_new=True))
        except AlreadyExists:
            there = await self._revisions.get(revision.metadata.name, meta.namespace)
            if there.data == data:
                return there  # created by an earlier sync that did not get the server's answer
            await self._count_collision(daemonset, collisions)
            raise

    async def _count_collision(self, daemonset: V1DaemonSet, collisions: int | None) -> None:
        """
        Count a collision: another template has the same hash. With the new count, the next sync uses another hash.

        :raises SyncError: if the count in the cache was old; the next sync uses the new one
        """
        meta = daemonset.metadata
        fresh = await self._daemonsets.get(meta.name, meta.namespace)
        there = fresh.status.collision_count if fresh.status is not None else None
        if there != collisions or fresh.metadata.uid != meta.uid:
            raise SyncError(
                f"found a stale collision count ({collisions}, expected {there}) of DaemonSet {meta.name!r} "
                "while processing; will retry until it is updated"
            )
        status = copy.copy(fresh.status) if fresh.status is not None else None
        if status is None:
            status = V1DaemonSetStatus(
                current_number_scheduled=0, desired_number_scheduled=0, number_misscheduled=0, number_ready=0
            )
        status.collision_count = (there or 0) + 1
        fresh.status = status
        await self._daemonsets.update_status(fresh)
        log.info("hash_collision", daemonset=meta.name, collisions=status.collision_count)

    async def _merge(
        self, kept: V1ControllerRevision, all_: Iterable[V1ControllerRevision], pods: Iterable[V1Pod]
    ) -> None:
        """Merge several revisions of the same template: relabel the pods, and delete the other revisions."""
        hash_ = _hash_of(kept)
        for pod in pods:
            if (pod.metadata.labels or {}).get(HASH_LABEL) != hash_:
                patch = {"metadata": {"labels": {HASH_LABEL: hash_}}}
                await self._pods.patch(pod.metadata.name, patch, pod.metadata.namespace, patch_type=PatchType.MERGE)
        for revision in all_:
            if revision.metadata.name != kept.metadata.name:
                await self._history.delete(revision)


def _hash_of(revision: V1ControllerRevision) -> str:
    return (revision.metadata.labels or {}).get(HASH_LABEL, "")
