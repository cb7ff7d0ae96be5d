"""The StatefulSet controller, as kube-controller-manager has it.

In: StatefulSets, their pods, claims and ControllerRevisions. Out: pods and claims by ordinal, revisions, and the
status. Promised: at most one pod of each ordinal, and with OrderedReady never more than one pod on its way.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from kinformer.client import Client
from kinformer.clock import Clock, RealClock
from kinformer.informers import SharedInformerFactory
from kinformer.logs import get_logger
from kinformer.manager import Controller, ControllerContext
from kinformer.meta import GroupResource, Selector, SelectorError, label_selector_as_selector
from kinformer.models import (
    V1ControllerRevision,
    V1PersistentVolumeClaim,
    V1Pod,
    V1StatefulSet,
    V1StatefulSetStatus,
)
from kinformer.record import EventRecorder
from kinformer_controllers.shared.owning.claim import ControllerRefManager, recheck_deletion
from kinformer_controllers.shared.owning.handlers import PodHandler
from kinformer_controllers.shared.owning.identity import owner_id
from kinformer_controllers.shared.owning.index import add_controller_index, owned_by
from kinformer_controllers.shared.owning.owner_handler import OwnerHandler
from kinformer_controllers.shared.owning.owners import OwnersByReference
from kinformer_controllers.shared.owning.status import next_availability_check
from kinformer_controllers.shared.waiting.consistency import ConsistencyStore, VersionedStore
from kinformer_controllers.shared.writing.pods import PodControl
from kinformer_controllers.shared.writing.status import write_status
from kinformer_controllers.statefulset.identity import is_member
from kinformer_controllers.statefulset.metrics import STALE_SYNC_SKIPS
from kinformer_controllers.statefulset.options import StatefulSetOptions
from kinformer_controllers.statefulset.pods import KIND
from kinformer_controllers.statefulset.revisions import StatefulSetRevisions
from kinformer_controllers.statefulset.status import complete_rolling_update, needs_writing
from kinformer_controllers.statefulset.updater import StatefulSetUpdater
from kinformer_controllers.statefulset.writer import CLAIMS, PODS, StatefulPodWriter

__all__ = ("StatefulSetController", "make_controller")

log = get_logger(__name__)

#: The component that its Events are from.
COMPONENT = "statefulset-controller"
STATEFUL_SETS = GroupResource("apps", "statefulsets")


def make_controller(context: ControllerContext) -> Controller:
    """The entry point ``statefulset``."""
    options = context.read(StatefulSetOptions)
    return StatefulSetController(
        context.client,
        context.informers,
        context.recorder(COMPONENT),
        clock=context.clock,
        workers=options.concurrent_statefulset_syncs,
    ).controller


class StatefulSetController:
    """
    Syncs StatefulSets.

    :param workers: how many are synced at once
    """

    def __init__(
        self,
        client: Client,
        informers: SharedInformerFactory,
        recorder: EventRecorder,
        *,
        clock: Clock | None = None,
        workers: int = 5,
    ) -> None:
        self._clock = clock = clock or RealClock()
        sets, pods = informers.informer_for(V1StatefulSet), informers.informer_for(V1Pod)
        claims = informers.informer_for(V1PersistentVolumeClaim)
        history = informers.informer_for(V1ControllerRevision)
        add_controller_index(pods)
        self._sets, self._pods = sets.indexer, pods.indexer
        self._server = client.resource(V1StatefulSet)
        stores: dict[GroupResource, VersionedStore] = {
            PODS: pods.indexer,
            CLAIMS: claims.indexer,
            STATEFUL_SETS: sets.indexer,
        }
        self._seen = ConsistencyStore(stores, clock, skips=STALE_SYNC_SKIPS)
        self._pod_control = PodControl(client, recorder, lambda owner, version: self._seen.wrote(owner, PODS, version))
        writer = StatefulPodWriter(client, pods.indexer, claims.indexer, recorder, self._wrote)
        self._updater = StatefulSetUpdater(writer)
        self._revisions = StatefulSetRevisions(client, history)
        owners = OwnersByReference(
            V1StatefulSet, KIND.kind, sets.indexer, _selects, lambda one: one.spec.min_ready_seconds
        )
        self.controller = Controller("statefulset", self.sync, workers=workers, clock=clock)
        queue = self.controller.queue
        self.controller.handle(sets, OwnerHandler(queue.add, self._seen.forget))
        self.controller.handle(pods, PodHandler(queue, None, owners))
        self.controller.wait_for(claims).wait_for(history)

    async def sync(self, key: str) -> float | None:
        """
        Bring one StatefulSet to where it should be; never called for the same key twice at a time.

        :return: seconds until one of its pods becomes available, None if there is nothing to wait for
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
        await self._revisions.adopt_orphans(statefulset, selector, self._recheck(statefulset))
        pods = await self._claim_pods(statefulset, selector)
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
            await self._write_status(statefulset, outcome.status)
        except Exception as error:
            if outcome.failure is None:
                raise
            log.error("status_not_written", kind=KIND.kind, name=statefulset.metadata.name, error=str(error))
        finally:
            await self._revisions.truncate(statefulset, revisions, pods)
        if outcome.failure is not None:
            raise outcome.failure
        return outcome.status

    async def _write_status(self, statefulset: V1StatefulSet, status: V1StatefulSetStatus) -> None:
        complete_rolling_update(statefulset, status)
        if needs_writing(statefulset, status):
            written = await write_status(self._server, statefulset, status, same=lambda *_: False)
            self._wrote(statefulset, STATEFUL_SETS, written.metadata.resource_version)

    async def _claim_pods(self, statefulset: V1StatefulSet, selector: Selector) -> list[V1Pod]:
        """The pods that are its own, after adopting and releasing what has to be."""
        there = owned_by(self._pods, statefulset, KIND.kind)
        manager: ControllerRefManager[V1Pod] = ControllerRefManager(
            statefulset, KIND, selector, self._pod_control.patch, self._recheck(statefulset)
        )
        return await manager.claim(there, lambda pod: is_member(statefulset, pod))

    def _recheck(self, statefulset: V1StatefulSet) -> Callable[[], Awaitable[None]]:
        meta = statefulset.metadata

        async def read_fresh() -> V1StatefulSet:
            return await self._server.get(meta.name, meta.namespace)

        return recheck_deletion(read_fresh, meta.uid)

    def _wrote(self, statefulset: V1StatefulSet, resource: GroupResource, version: str) -> None:
        self._seen.wrote(owner_id(statefulset), resource, version)


def _selects(statefulset: V1StatefulSet, pod: V1Pod) -> bool:
    try:
        selector = label_selector_as_selector(statefulset.spec.selector)
    except SelectorError:
        return False
    return not selector.is_empty and selector.matches(pod.metadata.labels)
