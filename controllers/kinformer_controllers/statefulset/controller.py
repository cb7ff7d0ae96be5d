"""The StatefulSet controller, as kube-controller-manager has it.

In: StatefulSets, their pods, claims and ControllerRevisions. Out: pods and claims by ordinal, revisions, and the
status. Promised: there is at most one pod of each ordinal, and with OrderedReady at most one pod is starting or
stopping.
"""

from __future__ import annotations

from kinformer.controllerutil.claiming import OwnedPods
from kinformer.controllerutil.consistency import ConsistencyStore, VersionedStore
from kinformer.controllerutil.handlers import OwnerHandler, PodHandler
from kinformer.controllerutil.owning import OwnersByReference, owner_id
from kinformer.controllerutil.pod_control import PodControl
from kinformer.controllerutil.pods import next_availability_check
from kinformer.logs import get_logger
from kinformer.manager import Controller, ControllerContext
from kinformer.meta import GroupResource, Selector, SelectorError, label_selector_as_selector, meta_namespace_key
from kinformer.models import (
    V1ControllerRevision,
    V1PersistentVolumeClaim,
    V1Pod,
    V1StatefulSet,
    V1StatefulSetStatus,
)
from kinformer_controllers.statefulset.handlers import ClaimHandler, selects
from kinformer_controllers.statefulset.identity import is_member
from kinformer_controllers.statefulset.metrics import STALE_SYNC_SKIPS
from kinformer_controllers.statefulset.pods import KIND
from kinformer_controllers.statefulset.revisions import StatefulSetRevisions
from kinformer_controllers.statefulset.spec import StatefulSetOptions
from kinformer_controllers.statefulset.status_writer import StatefulSetStatusWriter
from kinformer_controllers.statefulset.updater import StatefulSetUpdater
from kinformer_controllers.statefulset.writer import CLAIMS, PODS, StatefulPodWriter

__all__ = ("StatefulSetController", "make_controller")

log = get_logger(__name__)

#: The source component of its Events.
COMPONENT = "statefulset-controller"
STATEFUL_SETS = GroupResource("apps", "statefulsets")


def make_controller(context: ControllerContext) -> Controller:
    """The entry point ``statefulset``."""
    return StatefulSetController(context).controller


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
        stores: dict[GroupResource, VersionedStore] = {
            PODS: pods.indexer,
            CLAIMS: claims.indexer,
            STATEFUL_SETS: sets.indexer,
        }
        self._seen = ConsistencyStore(stores, clock, skips=STALE_SYNC_SKIPS)
        control = PodControl(context.client, recorder, lambda owner, version: self._seen.wrote(owner, PODS, version))
        self._owned = OwnedPods(KIND, self._server, pods, control.patch)
        writer = StatefulPodWriter(context.client, pods.indexer, claims.indexer, recorder, self._wrote)
        self._updater = StatefulSetUpdater(writer)
        self._status = StatefulSetStatusWriter(
            self._server, lambda one: self._wrote(one, STATEFUL_SETS, one.metadata.resource_version)
        )
        self._revisions = StatefulSetRevisions(context.client, history)
        owners = OwnersByReference(
            V1StatefulSet, KIND.kind, sets.indexer, selects, lambda one: one.spec.min_ready_seconds
        )
        self.controller = Controller("statefulset", self.sync, workers=workers, clock=clock)
        queue = self.controller.queue
        self.controller.handle(sets, OwnerHandler(queue.add, self._seen.forget))
        self.controller.handle(pods, PodHandler(queue, None, owners))
        self.controller.handle(claims, ClaimHandler(queue.add)).wait_for(history)

    async def sync(self, key: str) -> float | None:
        """
        Sync one StatefulSet. It is never called twice at the same time for one key.

        :return: seconds until the next sync, if one is needed without an event; otherwise None
        """
        if (wait := self._seen.wait(key)) is not None:
            return wait
        statefulset = self._sets.get_by_key(key)
        if statefulset is None:
            self._seen.forget(key)
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
            await self._status.write(statefulset, outcome.status)
            await self._revisions.truncate(statefulset, revisions, pods)
        except Exception as error:
            if outcome.failure is None:
                raise
            log.warning("status_not_written", kind=KIND.kind, key=meta_namespace_key(statefulset), error=str(error))
        if outcome.failure is not None:
            raise outcome.failure
        return outcome.status

    def _wrote(self, statefulset: V1StatefulSet, resource: GroupResource, version: str) -> None:
        self._seen.wrote(owner_id(statefulset), resource, version)
