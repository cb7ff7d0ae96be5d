"""The StatefulSet controller, as kube-controller-manager has it.

In: StatefulSets, their pods, claims and ControllerRevisions. Out: pods and claims by ordinal, revisions, and the
status. Promised: there is at most one pod of each ordinal, and with OrderedReady at most one pod is starting or
stopping. A StatefulSet is also queued when a claim is gone, because a pod may wait for this.
"""

from __future__ import annotations

from typing import Final

from prometheus_client import Counter

from kinformer.controllerutil.claiming import OwnedPods
from kinformer.controllerutil.handlers import OwnerHandler, PodHandler
from kinformer.controllerutil.owning import OwnersByReference
from kinformer.controllerutil.pod_control import PodControl
from kinformer.controllerutil.pods import next_availability_check
from kinformer.logs import get_logger
from kinformer.manager import Controller, ControllerContext
from kinformer.meta import Selector, SelectorError, label_selector_as_selector, meta_namespace_key
from kinformer.models import (
    V1ControllerRevision,
    V1PersistentVolumeClaim,
    V1Pod,
    V1StatefulSet,
    V1StatefulSetStatus,
)
from kinformer_controllers.statefulset.pods import KIND, is_member, parent_and_ordinal
from kinformer_controllers.statefulset.revisions import StatefulSetRevisions
from kinformer_controllers.statefulset.spec import StatefulSetOptions
from kinformer_controllers.statefulset.status import write_if_changed
from kinformer_controllers.statefulset.updater import StatefulSetUpdater
from kinformer_controllers.statefulset.writer import StatefulPodWriter

__all__ = ("StatefulSetController",)

log = get_logger(__name__)

_STALE_SYNC_SKIPS: Final = Counter(
    "statefulset_controller_stale_sync_skips",
    "Syncs that were put off because a cache was older than the last write.",
    ["group", "resource"],
)

#: The source component of its Events.
COMPONENT = "statefulset-controller"


class StatefulSetController:
    """Syncs StatefulSets."""

    def __init__(self, context: ControllerContext) -> None:
        workers = context.read(StatefulSetOptions).concurrent_statefulset_syncs
        informers = context.informers
        recorder = context.recorder(COMPONENT)
        self._clock = clock = context.clock
        sets, pods = informers.informer_for(V1StatefulSet), informers.informer_for(V1Pod)
        claims = informers.informer_for(V1PersistentVolumeClaim)
        history = informers.informer_for(V1ControllerRevision)
        self._sets = sets.indexer
        self._server = context.client.resource(V1StatefulSet)
        control = PodControl(context.client, recorder)
        self._owned = OwnedPods(KIND, self._server, pods, control.patch)
        writer = StatefulPodWriter(context.client, claims.indexer, recorder)
        self._updater = StatefulSetUpdater(writer)
        self._revisions = StatefulSetRevisions(context.client, history)
        owners = OwnersByReference(
            V1StatefulSet, KIND.kind, sets.indexer, min_ready_seconds=lambda one: one.spec.min_ready_seconds
        )
        self.controller = Controller(
            "statefulset",
            self.sync,
            workers=workers,
            consistent=True,
            on_stale=lambda it: _STALE_SYNC_SKIPS.labels(it.group, it.resource).inc(),
            clock=clock,
        )
        queue = self.controller.queue
        self.controller.handle(sets, OwnerHandler(queue.add))
        self.controller.handle(pods, PodHandler(queue, None, owners))
        self.controller.watch_mapped(claims, _waiting_for, lambda old, new: new is None).wait_for(history)

    async def sync(self, key: str) -> float | None:
        """
        Sync one StatefulSet. It is never called twice at the same time for one key.

        :return: seconds until the next sync, if one is needed without an event; otherwise None
        """
        statefulset = self._sets.get_by_key(key)
        if statefulset is None:
            return None
        try:
            selector = label_selector_as_selector(statefulset.spec.selector)
        except SelectorError as error:
            log.error("selector_not_understood", kind=KIND.kind, key=key, error=str(error))
            return None
        await self._revisions.adopt_orphans(statefulset, selector, self._owned.may_adopt(statefulset))
        pods = await self._owned.claim(statefulset, selector, lambda pod: is_member(statefulset, pod))
        now = self._clock.now()
        status = await self._update(statefulset, selector, pods)
        min_ready_seconds = statefulset.spec.min_ready_seconds or 0
        if min_ready_seconds > 0 and (status.ready_replicas or 0) != (status.available_replicas or 0):
            check = next_availability_check(pods, min_ready_seconds, now, self._clock)
            return check if check is not None else float(min_ready_seconds)
        return None

    async def _update(self, statefulset: V1StatefulSet, selector: Selector, pods: list[V1Pod]) -> V1StatefulSetStatus:
        revisions = await self._revisions.of(statefulset, selector)
        outcome = await self._updater.update(
            statefulset, pods, revisions.current, revisions.update, revisions.collisions, self._clock.now()
        )
        try:
            await write_if_changed(self._server, statefulset, outcome.status)
            await self._revisions.truncate(statefulset, revisions, pods)
        except Exception as error:
            if outcome.failure is None:
                raise
            log.warning("status_not_written", kind=KIND.kind, key=meta_namespace_key(statefulset), error=str(error))
        if outcome.failure is not None:
            raise outcome.failure
        return outcome.status


def _waiting_for(claim: V1PersistentVolumeClaim) -> list[str]:
    """
    Return the keys of the StatefulSets whose pods may have waited until an old claim was gone.

    In kube-controller-manager, such a pod is created only after the next change of the StatefulSet or of one of its
    pods.
    """
    pods = [reference.name for reference in claim.metadata.owner_references or () if reference.kind == "Pod"]
    return [f"{claim.metadata.namespace}/{parent_and_ordinal(name)[0]}" for name in pods]
