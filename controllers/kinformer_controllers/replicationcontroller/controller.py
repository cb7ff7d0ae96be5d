"""The ReplicationController controller: keeps each one's number of pods what it asks for.

It is kube-controller-manager's, which is its ReplicaSet controller over another kind: the order of what a sync does,
what wakes it and what it writes are the same. What is not here: the status field terminatingReplicas, which
ReplicationControllers do not have.
"""

from __future__ import annotations

from collections.abc import Iterable

from kinformer.cache import NAMESPACE_INDEX
from kinformer.client import Client
from kinformer.clock import Clock, RealClock
from kinformer.informers import SharedInformerFactory
from kinformer.logs import get_logger
from kinformer.manager import Controller, ControllerContext
from kinformer.meta import get_controller_of, label_selector_as_selector, meta_namespace_key
from kinformer.models import V1Pod, V1ReplicationController
from kinformer.record import EventRecorder
from kinformer_controllers.replicationcontroller.handlers import ReplicationControllerHandler
from kinformer_controllers.replicationcontroller.kind import KIND
from kinformer_controllers.replicationcontroller.owners import OwnersByLabels, owners_by_reference, selects
from kinformer_controllers.replicationcontroller.replicas import BURST_REPLICAS, ReplicaManager
from kinformer_controllers.replicationcontroller.status import compute_status, update_status
from kinformer_controllers.shared.owning.claim import ControllerRefManager, recheck_deletion
from kinformer_controllers.shared.owning.control import PodControl, PodWriter
from kinformer_controllers.shared.owning.expectations import UIDTrackingExpectations
from kinformer_controllers.shared.owning.handlers import PodHandler
from kinformer_controllers.shared.owning.index import add_pod_controller_index, pods_of_owner
from kinformer_controllers.shared.owning.owners import PodOwners
from kinformer_controllers.shared.owning.status import is_pod_active, next_availability_check

__all__ = ("ReplicationManager", "make_controller")

log = get_logger(__name__)

#: The component that its Events are from.
COMPONENT = "replication-controller"
#: What its queue's metrics call it.
QUEUE = "replicationmanager"
#: ReplicationControllers by the uid of what controls them.
_CONTROLLER_UID_INDEX = "controllerUID"


def make_controller(context: ControllerContext) -> Controller:
    """
    The entry point ``replicationcontroller``.

    Options: ``concurrent_rc_syncs`` (5), ``enable_garbage_collector`` (True).
    """
    return ReplicationManager(
        context.client,
        context.informers,
        context.recorder(COMPONENT),
        clock=context.clock,
        workers=context.option("concurrent_rc_syncs", 5),
        enable_garbage_collector=context.option("enable_garbage_collector", True),
    ).controller


class ReplicationManager:
    """
    Syncs ReplicationControllers.

    :param pods: writes pods; to the client's server if None
    :param workers: how many are synced at once
    :param enable_garbage_collector: whether pods are owned by reference, adopted and released. If not, every pod that
        matches counts, whoever else counts it
    :param burst: pods that one sync makes or removes at most
    """

    def __init__(
        self,
        client: Client,
        informers: SharedInformerFactory,
        recorder: EventRecorder,
        *,
        pods: PodWriter | None = None,
        clock: Clock | None = None,
        workers: int = 5,
        enable_garbage_collector: bool = True,
        burst: int = BURST_REPLICAS,
    ) -> None:
        rc_informer = informers.informer_for(V1ReplicationController, indexers={_CONTROLLER_UID_INDEX: _controller_uid})
        pod_informer = informers.informer_for(V1Pod)
        self._rcs = rc_informer.indexer
        self._pods = pod_informer.indexer
        self._clock = clock or RealClock()
        self._server = client.resource(V1ReplicationController)
        self._pod_control = pods or PodControl(client, recorder)
        self._claims = enable_garbage_collector
        owners: PodOwners = OwnersByLabels(self._rcs)
        if enable_garbage_collector:
            owners = owners_by_reference(self._rcs)
            add_pod_controller_index(pod_informer)
        self.expectations = UIDTrackingExpectations(self._clock)
        self._replicas = ReplicaManager(
            self._pod_control,
            self.expectations,
            self._related_pods,
            self._clock,
            owner_references=enable_garbage_collector,
            burst=burst,
        )
        self.controller = Controller(
            "replicationcontroller", self.sync, workers=workers, queue_name=QUEUE, clock=self._clock
        )
        queue = self.controller.queue
        self.controller.handle(rc_informer, ReplicationControllerHandler(queue, self.expectations))
        self.controller.handle(pod_informer, PodHandler(queue, self.expectations, owners))

    async def sync(self, key: str) -> float | None:
        """
        Bring one ReplicationController to where it should be; never called for the same key twice at a time.

        :return: seconds until one of its pods becomes available, if that is all that there is to wait for
        """
        rc = self._rcs.get_by_key(key)
        if rc is None:
            self.expectations.forget(key)
            return None
        may_act = self.expectations.satisfied(key)
        pods = await self._active_pods(rc)
        failure: Exception | None = None
        if may_act and not rc.metadata.deletion_timestamp:
            failure = await self._replicas.manage(rc, pods)
        now = self._clock.now()
        rc = await update_status(self._server, rc, compute_status(rc, pods, failure, now))
        if failure is not None:
            raise failure
        min_ready_seconds = rc.spec.min_ready_seconds or 0
        if min_ready_seconds > 0 and rc.status.ready_replicas != rc.status.available_replicas:
            check = next_availability_check(pods, min_ready_seconds, now, self._clock)
            return check if check is not None else float(min_ready_seconds)
        return None

    async def _active_pods(self, rc: V1ReplicationController) -> list[V1Pod]:
        """The pods that count, after adopting and releasing what has to be."""
        meta = rc.metadata
        if not self._claims:
            there = self._pods.by_index(NAMESPACE_INDEX, meta.namespace)
            return [pod for pod in there if selects(rc, pod) and is_pod_active(pod)]

        async def read_fresh() -> V1ReplicationController:
            return await self._server.get(meta.name, meta.namespace)

        manager: ControllerRefManager[V1Pod] = ControllerRefManager(
            rc,
            KIND,
            label_selector_as_selector({"matchLabels": rc.spec.selector} if rc.spec.selector else None),
            self._pod_control.patch,
            recheck_deletion(read_fresh, meta.uid),
        )
        pods = pods_of_owner(self._pods, meta.namespace, KIND.kind, meta.name, meta.uid)
        return await manager.claim(filter(is_pod_active, pods))

    def _related_pods(self, rc: V1ReplicationController) -> Iterable[V1Pod]:
        """The pods of all ReplicationControllers that have the same controller; none if it has no controller."""
        reference = get_controller_of(rc)
        if reference is None:
            return []
        seen: dict[str, V1Pod] = {}
        for related in self._rcs.by_index(_CONTROLLER_UID_INDEX, reference.uid):
            for pod in self._pods.by_index(NAMESPACE_INDEX, related.metadata.namespace):
                if selects(related, pod):
                    seen.setdefault(meta_namespace_key(pod), pod)
        return seen.values()


def _controller_uid(rc: V1ReplicationController) -> tuple[str, ...]:
    reference = get_controller_of(rc)
    return (reference.uid,) if reference is not None else ()
