"""The attach/detach controller, as kube-controller-manager has it.

In: pods, nodes, claims, PersistentVolumes, CSIDrivers and VolumeAttachments. Out: VolumeAttachments, the lists
``volumesAttached`` of nodes, and Events of pods. Two states are kept in memory: what should be attached, and what is. A
key is the unique name of a volume. Its sync compares the states and starts operations, which run beside it. A second
queue writes the statuses of nodes, a third one looks for the pods of claims that were bound.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

import anyio
from anyio.abc import TaskGroup

from kinformer.cache import ResourceEventHandlerFuncs
from kinformer.client.errors import ClientError
from kinformer.controllerutil.handlers import ChangeHandler
from kinformer.logs import get_logger
from kinformer.manager import Controller, ControllerContext, Group, Periodic, SyncError
from kinformer.models import (
    V1CSIDriver,
    V1Node,
    V1PersistentVolume,
    V1PersistentVolumeClaim,
    V1Pod,
    V1VolumeAttachment,
)
from kinformer.record import WARNING
from kinformer_controllers.attachdetach.actual import ActualState
from kinformer_controllers.attachdetach.attachments import OperationFailed, VolumeAttachments
from kinformer_controllers.attachdetach.checking import RESYNC_PERIOD, Checks
from kinformer_controllers.attachdetach.deciding import Attach, Detach, Plan, Refuse, plan_volume
from kinformer_controllers.attachdetach.desired import DesiredState
from kinformer_controllers.attachdetach.following import (
    NODE_INDEX,
    VOLUME_INDEX,
    Caches,
    Follower,
    attached_volumes,
    nodes_with_volumes,
)
from kinformer_controllers.attachdetach.metrics import counted_volumes
from kinformer_controllers.attachdetach.operations import VolumeOperations, multi_attach, multi_attach_without_pods
from kinformer_controllers.attachdetach.pending import ATTACH, DETACH, Key, PendingOperations
from kinformer_controllers.attachdetach.spec import AttachDetachOptions
from kinformer_controllers.attachdetach.statuses import NodeStatuses
from kinformer_controllers.attachdetach.volumes import Resolver
from kinformer_controllers.shared.volumes.facts import claimed_keys
from kinformer_controllers.shared.volumes.pods import add_claim_index, pods_of_claim

__all__ = ("COMPONENT", "AttachDetachController")

log = get_logger(__name__)

#: The source component of its Events.
COMPONENT: Final = "attachdetach-controller"
#: Seconds between a change and the look at a volume or the write of a node. Kubernetes looks that often. What changes
#: together, such as a pod and the node that used its volume, is seen together.
_DELAY: Final = 0.1


# More than 15 fields: it joins three controllers with the states that they share.
class AttachDetachController(Group):
    """Attaches and detaches volumes."""

    def __init__(self, context: ControllerContext) -> None:
        options = context.read(AttachDetachOptions)
        self._clock = clock = context.clock
        self._recorder = context.recorder(COMPONENT)
        self._force_on_timeout = not options.disable_force_detach_on_timeout
        pods, nodes = context.informers.informer_for(V1Pod), context.informers.informer_for(V1Node)
        claims = context.informers.informer_for(V1PersistentVolumeClaim)
        volumes, drivers = (
            context.informers.informer_for(V1PersistentVolume),
            context.informers.informer_for(V1CSIDriver),
        )
        attachments = context.informers.informer_for(V1VolumeAttachment)
        add_claim_index(pods)
        pods.add_indexers({NODE_INDEX: nodes_with_volumes})
        attachments.add_indexers({VOLUME_INDEX: attached_volumes})
        self._caches = Caches(pods.indexer, nodes.indexer, claims.indexer, volumes.indexer, attachments.indexer)
        self._resolver = Resolver(claims.indexer.get_by_key, volumes.indexer.get_by_key, drivers.indexer.get_by_key)
        self.desired, self.actual, self.pending = DesiredState(), ActualState(), PendingOperations()
        csi = VolumeAttachments(context.client, attachments, clock)
        self._statuses = NodeStatuses(context.client, self.actual)
        self._operations = VolumeOperations(
            context.client, csi, self._statuses, self.desired, self.actual, self._resolver, self._recorder, clock
        )
        self._tasks: TaskGroup | None = None
        states = self.desired, self.actual
        self._follower = Follower(self._caches, *states, self._resolver, self._look, self._write_later)
        self._checks = Checks(
            self._caches,
            *states,
            self.pending,
            self._resolver,
            self._follower,
            csi,
            self._look,
            self._write_later,
            clock,
        )
        self.volumes = Controller("attachdetach", self.sync_volume, clock=clock)
        self.node_statuses = Controller("attachdetach-nodes", self._statuses.write, clock=clock)
        self.claims = Controller("attachdetach-claims", self.sync_claim, queue_name="pvcs", clock=clock)
        follow = self._follower
        self.volumes.handle(nodes, ResourceEventHandlerFuncs(follow.node_seen, follow.node_changed, follow.node_gone))
        self.volumes.handle(pods, ChangeHandler(follow.pod_changed))
        self.volumes.handle(attachments, ChangeHandler(csi.changed))
        self.volumes.handle(attachments, ResourceEventHandlerFuncs(self._checks.attachment_seen))
        self.claims.watch(claims).watch_mapped(volumes, claimed_keys)
        read = (pods, nodes, claims, volumes, drivers, attachments)
        self.volumes.wait_for(claims).wait_for(volumes).wait_for(drivers)
        checks = [Periodic("attachdetach-resync", self._checks.resync, RESYNC_PERIOD, clock=clock)]
        if not options.disable_attach_detach_reconcile_sync:
            period = options.attach_detach_reconcile_sync_period
            checks.append(Periodic("attachdetach-verify", self._checks.verify, period, clock=clock))
        super().__init__(self.volumes, self.node_statuses, self.claims, *checks, after=read)

    async def run(self) -> None:
        """Work until cancelled. Operations that run are cancelled, too: the next process continues them."""
        with counted_volumes(self._count_in_use, self._count_total):
            async with anyio.create_task_group() as tasks:
                self._tasks = tasks
                try:
                    await super().run()
                finally:
                    self._tasks = None
                    tasks.cancel_scope.cancel()

    async def sync_volume(self, volume: str) -> float | None:
        """
        Start the operations that a volume needs.

        :return: seconds after which it has to be looked at again
        """
        self._checks.recover()
        self._checks.look_at(volume)
        now, node_of = self._clock.monotonic(), self._caches.nodes.get_by_key
        plan = plan_volume(
            volume, self.desired, self.actual, self.pending, node_of, now, force_on_timeout=self._force_on_timeout
        )
        self._carry_out(volume, plan, now)
        return plan.wait

    def _carry_out(self, volume: str, plan: Plan, now: float) -> None:
        for node in (*plan.unneeded, *plan.kept):
            if (there := self.actual.attachment(volume, node)) is not None:
                there.detach_requested = now if node in plan.unneeded else None
        for refusal in plan.refusals:
            self._refuse(volume, refusal)
        for detach in plan.detaches:
            self._start(detach.key, DETACH, self._detach(volume, detach))
        for attach in plan.attaches:
            self._start(attach.key, ATTACH, self._attach(volume, attach))

    def _detach(self, volume: str, what: Detach) -> Callable[[], Awaitable[None]]:
        found = self.actual.get(volume)
        spec = found.spec if found is not None else None
        return lambda: self._operations.detach(volume, spec, what)

    def _attach(self, volume: str, what: Attach) -> Callable[[], Awaitable[None]]:
        wanted = self.desired.on(volume)[what.node]
        spec, pods = wanted.spec, tuple(wanted.pods.values())
        return lambda: self._operations.attach(spec, what.node, pods)

    def _start(self, key: Key, name: str, operation: Callable[[], Awaitable[None]]) -> None:
        if self._tasks is not None:
            self.pending.start(key, name)
            self._tasks.start_soon(self._run, key, name, operation, name=f"{name} {key.volume}")

    async def _run(self, key: Key, name: str, operation: Callable[[], Awaitable[None]]) -> None:
        try:
            await operation()
            self.pending.succeed(key)
        except Exception as error:  # of any type: the other operations must continue
            self.pending.fail(key, self._clock.monotonic())
            expected = isinstance(error, SyncError | OperationFailed | ClientError)
            tell = log.warning if expected else log.exception
            tell("volume_operation_failed", operation=name, volume=key.volume, node=key.node or None, error=str(error))
        self.volumes.queue.add(key.volume)
        found = self.actual.get(key.volume)
        for node in found.nodes if found is not None else ():
            self._write_later(node)

    def _refuse(self, volume: str, refusal: Refuse) -> None:
        """Tell pods that other nodes have their volume, once."""
        nodes = self.desired.on(volume)
        wanted = nodes[refusal.node]
        wanted.reported = True
        name = wanted.spec.name
        others = [pod for node in refusal.attached_to if node in nodes for pod in nodes[node].pods.values()]
        for pod in wanted.pods.values():
            message = multi_attach(name, pod, others) if others else multi_attach_without_pods(name)
            self._recorder.event(pod, WARNING, "FailedAttachVolume", message)
        log.info("volume_attached_elsewhere", volume=volume, node=refusal.node, attached_to=refusal.attached_to)

    async def sync_claim(self, key: str) -> None:
        """Look at the pods of a claim that is bound."""
        claim = self._caches.claims.get_by_key(key)
        if claim is None or claim.status is None or claim.status.phase != "Bound" or not claim.spec.volume_name:
            return
        for pod in pods_of_claim(self._caches.pods, key):
            self._follower.take_pod(pod)

    def _look(self, volumes: Iterable[str]) -> None:
        for volume in volumes:
            self.volumes.queue.add_after(volume, _DELAY)

    def _write_later(self, node: str) -> None:
        if self.actual.is_unwritten(node):
            self.node_statuses.queue.add_after(node, _DELAY)

    def _count_in_use(self) -> Tally[tuple[str, str]]:
        pods = self._caches.pods_with_volumes()
        return Tally((node, spec.full_plugin) for node, pod in pods for spec in self._resolver.specs(pod))

    def _count_total(self) -> Tally[tuple[str, str]]:
        total = Tally((wanted.spec.full_plugin, "desired_state_of_world") for _, _, wanted in self.desired.volumes())
        for _, _, found in self.actual.volumes():
            if found.spec is not None:
                total[found.spec.full_plugin, "actual_state_of_world"] += 1
        return total
