"""ReplicaController: keeps the number of pods of each ReplicaSet or ReplicationController as its spec asks for.

It is kube-controller-manager's controller, with the same events, the same order of steps and the same writes, except
for two differences. If a sync finds that a cache is older than its own last write, it waits until the cache has that
write; Kubernetes' sync fails and is retried. And the ranking counts as related the pods that the other ReplicaSets of a
Deployment own; Kubernetes counts all pods that their selectors match.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from prometheus_client import Counter

from kinformer.cache.division import OwnUid
from kinformer.controllerutil.expectations import Expectations
from kinformer.controllerutil.handlers import OwnerHandler, PodHandler
from kinformer.controllerutil.owning import owner_id
from kinformer.controllerutil.pod_control import PodControl
from kinformer.controllerutil.pods import next_availability_check
from kinformer.controllerutil.writing import write_status
from kinformer.logs import get_logger
from kinformer.manager import Controller, ControllerContext
from kinformer.meta import SelectorError
from kinformer.models import V1Pod
from kinformer_controllers.shared.replicas.owners import ByLabels, ByReference, PodsOf, ReplicaKind
from kinformer_controllers.shared.replicas.replicas import ReplicaManager, compute_status, same_status

__all__ = ("ReplicaController",)

R = TypeVar("R")

log = get_logger(__name__)

_SKIPS = Counter(
    "replicaset_controller_stale_sync_skips",
    "Syncs that were put off because the cache was older than the last write.",
    ["group", "resource"],
)


class ReplicaController(Generic[R]):
    """
    Syncs the owners of one kind.

    :param workers: how many owners are synced at the same time
    :param pods: writes pods; None for a writer to the client's server
    :param by_labels: True if owner references are not used: every pod that matches counts, and none is adopted or
        released
    """

    def __init__(
        self,
        context: ControllerContext,
        kind: ReplicaKind[R],
        *,
        workers: int = 5,
        pods: PodControl | None = None,
        by_labels: bool = False,
    ) -> None:
        informers = context.informers
        self._kind = kind
        self._clock = clock = context.clock
        owners = informers.informer_for(kind.model)
        pod_informer = informers.informer_for(V1Pod)
        self._owners = owners.indexer
        self._server = context.client.resource(kind.model)
        self.expectations = Expectations(clock)
        control = pods or PodControl(context.client, context.recorder(kind.component))
        self._pods_of: PodsOf[R]
        if by_labels:
            self._pods_of = ByLabels(kind, owners, pod_informer)
        else:
            self._pods_of = ByReference(kind, owners, pod_informer, self._server, control)
        self._replicas = ReplicaManager(
            kind.gvk,
            control,
            self.expectations,
            self._pods_of.related,
            clock,
            owner_references=not by_labels,
        )
        self.controller = Controller(
            kind.name,
            self.sync,
            workers=workers,
            queue_name=kind.queue,
            consistent=True,
            shard_by_owner=None if by_labels else OwnUid(owners),
            on_stale=lambda it: _SKIPS.labels(it.group, it.resource).inc(),
            clock=clock,
        )
        queue = self.controller.queue
        self.controller.handle(owners, OwnerHandler(queue.add, self.expectations.forget))
        # kube-controller-manager syncs the owner after each change of a pod. After most of them, nothing is to be done.
        handler = PodHandler(queue, self.expectations, self._pods_of, counts_only=True)
        self.controller.handle(pod_informer, handler)

    async def sync(self, key: str) -> float | None:
        """
        Sync one owner. It is never called twice at the same time for one key.

        :return: seconds until one of its pods will become available; None if there is none to wait for
        """
        owner: Any = self._owners.get_by_key(key)
        if owner is None:
            self.expectations.forget(key)
            return None
        may_act = self.expectations.satisfied(owner_id(owner))
        try:
            selector = self._kind.selector(owner)
        except SelectorError as error:
            log.error("selector_not_understood", kind=self._kind.gvk.kind, key=key, error=str(error))
            return None
        pods = await self._pods_of.pods_of(owner, selector)
        failure: Exception | None = None
        if may_act and not owner.metadata.deletion_timestamp:
            failure = await self._replicas.manage(owner, pods.active)
        now = self._clock.now()
        owner = await self._write_status(owner, compute_status(self._kind, owner, *pods, failure, now))
        if failure is not None:
            raise failure
        min_ready_seconds = owner.spec.min_ready_seconds or 0
        if min_ready_seconds > 0 and owner.status.ready_replicas != owner.status.available_replicas:
            check = next_availability_check(pods.active, min_ready_seconds, now, self._clock)
            return check if check is not None else float(min_ready_seconds)
        return None

    async def _write_status(self, owner: Any, status: Any) -> Any:
        # The observed generation is the one that this sync acted on. A newer spec was not seen yet.
        generation = owner.metadata.generation
        if same_status(owner.status, status, generation):
            return owner
        status.observed_generation = generation
        return await write_status(self._server, owner, status, same=lambda *_: False)
