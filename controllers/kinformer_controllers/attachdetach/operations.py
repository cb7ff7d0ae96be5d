"""Attaching and detaching: the requests of one operation, and what is known afterwards.

Before a volume is detached, the server is asked for the node and its pods: the caches may not show yet that the node
uses the volume, or that a pod needs it. Then the volume is taken out of the node's status, so that no kubelet begins to
use it, and the node is read once more: a kubelet says that it uses a volume before it looks whether it may.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Final

import anyio

from kinformer.client import Client
from kinformer.client.errors import NotFound
from kinformer.clock import Clock
from kinformer.logs import get_logger
from kinformer.manager import SyncError
from kinformer.meta import meta_namespace_key
from kinformer.models import V1Node, V1Pod
from kinformer.record import NORMAL, WARNING, EventRecorder
from kinformer_controllers.attachdetach.actual import ActualState
from kinformer_controllers.attachdetach.attachments import OperationFailed, VolumeAttachments
from kinformer_controllers.attachdetach.deciding import (
    BY_OUT_OF_SERVICE,
    BY_TIMEOUT,
    Detach,
    is_out_of_service,
    is_ready,
)
from kinformer_controllers.attachdetach.desired import MANAGED, DesiredState
from kinformer_controllers.attachdetach.metrics import FORCED_DETACHES
from kinformer_controllers.attachdetach.pending import ATTACH, DETACH
from kinformer_controllers.attachdetach.statuses import NodeStatuses
from kinformer_controllers.attachdetach.volumes import Resolver, split_name
from kinformer_controllers.shared.volumes.pods import is_pod_done
from kinformer_controllers.shared.volumes.specs import CSI, VolumeSpec
from kinformer_controllers.shared.volumes.timing import timed_operation

__all__ = ("VolumeOperations", "attached", "multi_attach", "multi_attach_without_pods")

log = get_logger(__name__)

_FAILED: Final = "FailedAttachVolume"


@dataclass(eq=False)
class VolumeOperations:
    """Attaches and detaches volumes."""

    client: Client
    attachments: VolumeAttachments
    statuses: NodeStatuses
    desired: DesiredState
    actual: ActualState
    resolver: Resolver
    recorder: EventRecorder
    clock: Clock

    def __post_init__(self) -> None:
        self._nodes, self._pods = self.client.resource(V1Node), _LivePods(self.client)

    async def attach(self, spec: VolumeSpec, node: str, pods: tuple[V1Pod, ...]) -> None:
        """
        Attach a volume to a node, and tell its pods.

        :raises SyncError: if only one node may have it, and the server shows that another one has it or this one does
            not need it
        :raises OperationFailed: if it is not attached, or it is not known whether it is
        :raises ClientError: if the server does not say so
        """
        volume = spec.unique_name
        try:
            with self._timed(ATTACH, volume, spec):
                await self._attach(spec, node, pods)
        except OperationFailed as error:
            self._tell(pods, WARNING, _FAILED, str(error))
            raise
        self.actual.mark(volume, spec, node, confirmed=True)
        log.info("volume_attached", volume=volume, node=node)
        self._tell(pods, NORMAL, "SuccessfulAttachVolume", attached(spec.name))

    async def _attach(self, spec: VolumeSpec, node: str, pods: tuple[V1Pod, ...]) -> None:
        if not self.resolver.is_attachable(spec):
            raise OperationFailed(_not_attachable(spec.name))
        if spec.plugin != CSI:
            return  # the kubelet does all of it
        if spec.exclusive:
            await self._check_free(spec, node, pods)
        try:
            await self.attachments.attach(spec, node)
        except OperationFailed as error:
            self.actual.mark(spec.unique_name, spec, node, confirmed=False)
            raise OperationFailed(_not_attached(spec.name, error)) from error

    async def _check_free(self, spec: VolumeSpec, node: str, pods: tuple[V1Pod, ...]) -> None:
        """Ask the server whether an exclusive volume is still needed by one of the pods, and on no other node."""
        volume = spec.unique_name
        if not await self._pods.any_left(pods):
            raise SyncError(f"no pod on node {node} needs {volume}, and the cache does not show it yet")
        found = self.actual.get(volume)
        for other in [it for it in found.nodes if it != node] if found is not None else ():
            if await self.attachments.has(spec.handle, other):
                raise SyncError(f"{volume} is still attached to {other}")

    def _timed(self, operation: str, volume: str, spec: VolumeSpec | None) -> AbstractContextManager[None]:
        plugin = spec.full_plugin if spec is not None else split_name(volume)[0]
        is_migrated = spec is not None and spec.migrated
        return timed_operation(self.clock, plugin, operation, is_migrated=is_migrated)

    def _tell(self, pods: tuple[V1Pod, ...], type_: str, reason: str, message: str) -> None:
        for pod in pods:
            self.recorder.event(pod, type_, reason, message)

    async def detach(self, volume: str, spec: VolumeSpec | None, what: Detach) -> None:
        """
        Detach a volume from a node.

        :raises SyncError: if the server shows that it must stay
        :raises OperationFailed: if it is not known whether it is detached
        :raises ClientError: if the server refuses a request
        """
        with self._timed(DETACH, volume, spec):
            await self._check(volume, what)
            self.actual.unreport(volume, what.node)
            try:
                await self.statuses.write(what.node)
            except BaseException:
                self.actual.report(volume, what.node)
                raise
            if what.forced:
                FORCED_DETACHES[what.forced] += 1
                log.warning("volume_force_detached", volume=volume, node=what.node, reason=what.forced)
            try:
                await self._detach(volume, what)
            except BaseException:
                # It is listed in the node's status again when it is known to be attached.
                self.actual.mark(volume, spec, what.node, confirmed=False)
                raise
        self.actual.unmark(volume, what.node)
        log.info("volume_detached", volume=volume, node=what.node)

    async def _detach(self, volume: str, what: Detach) -> None:
        if not what.forced and _uses(await self._node(what.node), volume):
            raise OperationFailed(f"{what.node} still uses the volume, according to its status")
        plugin, handle = split_name(volume)
        if plugin == CSI:
            await self.attachments.detach(handle, what.node)

    async def _check(self, volume: str, what: Detach) -> None:
        """Ask the server whether the volume is to be detached."""
        node = await self._node(what.node)
        if what.forced == BY_OUT_OF_SERVICE and not is_out_of_service(node):
            raise SyncError(f"node {what.node} is not out of service any more: {volume} stays attached")
        if _uses(node, volume) and (not what.forced or (what.forced == BY_TIMEOUT and is_ready(node))):
            raise SyncError(f"node {what.node} uses {volume}, and the cache does not show it yet")
        managed = node is not None and MANAGED in (node.metadata.annotations or {})
        if not managed and not self.desired.manages(what.node):
            return
        for pod in await self._pods.on(what.node):
            if not is_pod_done(pod) and any(it.unique_name == volume for it in self.resolver.attachable(pod)):
                key = meta_namespace_key(pod)
                raise SyncError(f"pod {key} on node {what.node} needs {volume}, and the cache does not show it yet")

    async def _node(self, name: str) -> V1Node | None:
        try:
            return await self._nodes.get(name)
        except NotFound:
            return None


@dataclass(eq=False, slots=True)
class _Listing:
    """
    The pods of a node.

    :ivar number: of the request that has read them
    :ivar waiting: how many callers need them
    """

    lock: anyio.Lock = field(default_factory=anyio.Lock)
    number: int = 0
    waiting: int = 0
    pods: Sequence[V1Pod] = ()


class _LivePods:
    """
    Asks the server for pods.

    All volumes of a node that are detached together need the same list. So who waits for a list takes the one before,
    if that one began after the caller has asked. Nothing is kept when nobody waits.
    """

    def __init__(self, client: Client) -> None:
        self._server = client.resource(V1Pod)
        self._listings: dict[str, _Listing] = {}
        self._number = 0

    async def on(self, node: str) -> Sequence[V1Pod]:
        """
        Return the pods of a node, not older than this call.

        :raises ClientError: if the server refuses
        """
        asked = self._number = self._number + 1
        listing = self._listings.setdefault(node, _Listing())
        listing.waiting += 1
        try:
            async with listing.lock:
                if listing.number < asked:
                    number = self._number = self._number + 1
                    listing.pods = (await self._server.list(field_selector=f"spec.nodeName={node}")).items
                    listing.number = number
                return listing.pods
        finally:
            listing.waiting -= 1
            if not listing.waiting:
                del self._listings[node]

    async def any_left(self, pods: Iterable[V1Pod]) -> bool:
        """
        Whether one of the pods is still there and has not ended.

        :raises ClientError: if the server refuses
        """
        for pod in pods:
            # A list of one, because Kubernetes' role of this controller lets it list pods, and not get one.
            name, namespace = pod.metadata.name, pod.metadata.namespace
            found = await self._server.list(namespace, field_selector=f"metadata.name={name}")
            if any(now.metadata.uid == pod.metadata.uid and not is_pod_done(now) for now in found.items):
                return True
        return False


def _uses(node: V1Node | None, volume: str) -> bool:
    return node is not None and node.status is not None and volume in (node.status.volumes_in_use or ())


def attached(name: str) -> str:
    """
    :param name: of the PersistentVolume, as in all messages
    """
    return _about("AttachVolume.Attach succeeded", name)


def _not_attached(name: str, why: object) -> str:
    return _about("AttachVolume.Attach failed", name, f": {why}")


def _not_attachable(name: str) -> str:
    return _about("AttachVolume.FindAttachablePluginBySpec failed", name)


def multi_attach_without_pods(name: str) -> str:
    """What a pod is told if the volume is attached to another node on which no pod needs it."""
    why = "Volume is already exclusively attached to one node and can't be attached to another"
    return _about("Multi-Attach error", name, why)


def multi_attach(name: str, pod: V1Pod, others: Iterable[V1Pod]) -> str:
    """
    What a pod is told if pods on other nodes use the volume. It learns no names of pods in other namespaces.

    :param others: at least one
    """
    others = list(others)
    near = [other.metadata.name for other in others if other.metadata.namespace == pod.metadata.namespace]
    far = len(others) - len(near)
    used = [f"pod(s) {', '.join(near)}"] if near else []
    used += [f"{far} pod(s) in different namespaces"] if far else []
    return _about("Multi-Attach error", name, f"Volume is already used by {' and '.join(used)}")


def _about(what: str, name: str, more: str = "") -> str:
    # The space after the name stands also if nothing follows.
    return f"{what} for volume {json.dumps(name, ensure_ascii=False)} {more}"
