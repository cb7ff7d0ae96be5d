"""FakeNodes: scheduler and kubelets of a cluster in which nothing runs.

It follows pods with an informer. A pod without a node is bound to the next suitable node in turn
(:mod:`~kinformer.envtest.nodes.scheduling`). A pod on a node of this agent gets the status of
:func:`~kinformer.envtest.nodes.phases.status_at`, each time that it changes. A pod that is being deleted becomes not
ready, or Failed if it has finalizers, and is then removed. Nodes are registered at the start, and renew their Leases. A
node that a user creates with KWOK's annotation ``kwok.x-k8s.io/node: fake`` becomes one of them.
"""

from __future__ import annotations

import itertools
import math
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from ipaddress import IPv4Network
from typing import Any

import anyio

from kinformer.cache import ListWatch, SharedIndexInformer
from kinformer.client import (
    AlreadyExists,
    Client,
    ClientError,
    Conflict,
    DeleteOptions,
    NotFound,
    PatchType,
    Preconditions,
)
from kinformer.clock import Clock, RealClock
from kinformer.envtest.discovery import VERSION
from kinformer.envtest.nodes.phases import Placement, PodScript, PodScriptError, status_at, terminating, timestamp
from kinformer.envtest.nodes.scheduling import first_fitting, unschedulable
from kinformer.logs import get_logger
from kinformer.manager import Controller
from kinformer.meta.patch.merge import without_nulls
from kinformer.models import V1Lease, V1Namespace, V1Node, V1Pod, from_dict, to_dict

__all__ = ("FakeNodes",)

log = get_logger(__name__)

_LEASES = "kube-node-lease"
#: Seconds between two renewals of a node's Lease, and the duration of the Lease: the kubelet's own values.
_RENEW = 10.0
_LEASE_SECONDS = 40
_ENDED = ("Succeeded", "Failed")
#: The annotation by which KWOK's users say that a node is fake.
_FAKE = "kwok.x-k8s.io/node"
#: The taint that the server puts on each new node. In a cluster, the node lifecycle controller removes it.
_NOT_READY = "node.kubernetes.io/not-ready"


class _Addresses:
    """The addresses of pods, which are those of `network`."""

    def __init__(self, network: str) -> None:
        self._fresh = itertools.islice(IPv4Network(network).hosts(), 1, None)
        self._released: list[str] = []
        self._taken: set[str] = set()

    def of(self, pod: V1Pod) -> str:
        """
        The address that an earlier agent has given to the pod, or a free one.

        :raises RuntimeError: if no address is left
        """
        given: str | None = pod.status.pod_ip if pod.status is not None else None
        if not given:
            free = itertools.chain(self._drain_released(), map(str, self._fresh))
            given = next((address for address in free if address not in self._taken), None)
        if not given:
            raise RuntimeError(f"no address is left for another pod: {len(self._taken)} have one")
        self._taken.add(given)
        return given

    def release(self, address: str) -> None:
        """Another pod may have this address."""
        self._taken.discard(address)
        self._released.append(address)

    def _drain_released(self) -> Iterator[str]:
        while self._released:
            yield self._released.pop()


# More than 15 fields: it is the scheduler and the kubelet of each node, and both share what they know of the nodes.
class FakeNodes:
    """
    Nodes on which every pod becomes ready at once, or as its annotations say.

    :param count: the number of nodes
    :param prefix: the nodes' names are this prefix and a number: ``node-0``
    :param pod_network: the network of the pods' addresses, from the second address on. It limits the number of running
        pods
    :param node_network: the network of the nodes' own addresses, from the second address on
    :param schedules: whether pods without a node are bound to one. Only one agent of a server may do this
    :param workers: the number of pods that are processed at once
    """

    def __init__(
        self,
        client: Client,
        count: int = 3,
        *,
        prefix: str = "node",
        pod_network: str = "10.1.0.0/16",
        node_network: str = "192.168.0.0/16",
        schedules: bool = True,
        workers: int = 8,
        clock: Clock | None = None,
    ):
        self._clock = clock or RealClock()
        self._pods = client.resource(V1Pod)
        self._nodes = client.resource(V1Node)
        self._leases = client.resource(V1Lease)
        self._namespaces = client.resource(V1Namespace)
        self._hosts = map(str, itertools.islice(IPv4Network(node_network).hosts(), 1, None))
        #: The nodes' own addresses, by name.
        self.nodes = {f"{prefix}-{n}": next(self._hosts) for n in range(count)}
        self._schedules = schedules
        #: The uids of those nodes that are served because of their annotation.
        self._annotated: dict[str, str | None] = {}
        #: The nodes, the next one first.
        self._turn = deque(self.nodes)
        #: Keys of the pods that fit on no node.
        self._waiting: set[str] = set()
        self._addresses = _Addresses(pod_network)
        self._placed: dict[str, tuple[str, Placement]] = {}
        self._informer = SharedIndexInformer(ListWatch(self._pods), V1Pod, name="fake-nodes pods", clock=self._clock)
        self._controller = Controller("fake-nodes", self._sync, workers=workers, clock=self._clock)
        self._controller.watch(self._informer)
        self._node_informer = SharedIndexInformer(
            ListWatch(self._nodes), V1Node, name="fake-nodes nodes", clock=self._clock
        )
        self._controller.watch_mapped(self._node_informer, self._keys_of_node)
        self._registered = anyio.Event()

    async def wait_registered(self) -> None:
        """Return once all nodes are registered."""
        await self._registered.wait()

    async def run(self) -> None:
        """Register the nodes, and act for the pods that are bound to them, until cancelled."""
        await self._register()
        self._registered.set()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._informer.run)
            tasks.start_soon(self._node_informer.run)
            tasks.start_soon(self._controller.run)
            tasks.start_soon(self._keep_renewing)

    # --- nodes

    async def _register(self) -> None:
        """Register the nodes. Nodes and Leases of an earlier agent are taken over."""
        with suppress(AlreadyExists):
            await self._namespaces.create(from_dict(V1Namespace, {"metadata": {"name": _LEASES}}))
        for name in self.nodes:
            try:
                node = await self._nodes.create(from_dict(V1Node, _node(name)))
            except AlreadyExists:
                node = await self._nodes.get(name)
            await self._make_ready(node)

    async def _sync_node(self, name: str) -> None:
        """Take a node of KWOK's kind, or let a deleted one go."""
        node = self._node_informer.indexer.get_by_key(name)
        if name in self._annotated and (node is None or node.metadata.uid != self._annotated[name]):
            # It was deleted, and perhaps made again before this sync.
            del self._annotated[name], self.nodes[name]
            self._turn.remove(name)
        if node is not None and name not in self.nodes:
            self.nodes[name] = next(self._hosts)
            try:
                await self._make_ready(node)
            except BaseException:
                del self.nodes[name]
                raise
            self._annotated[name] = node.metadata.uid
            self._turn.append(name)
            for pod in self._informer.indexer.list():
                if pod.spec.node_name in (name, None):
                    self._controller.queue.add(f"{pod.metadata.namespace}/{pod.metadata.name}")

    async def _make_ready(self, node: V1Node) -> None:
        name = node.metadata.name
        status = _node_status(name, self.nodes[name], timestamp(self._clock.now()), node.metadata.labels or {})
        given = to_dict(node.status) if node.status is not None else {}
        status |= {room: given[room] for room in ("capacity", "allocatable") if given.get(room)}
        await self._nodes.patch(name, {"status": status}, subresource="status", patch_type=PatchType.MERGE)
        taints = (node.spec.taints if node.spec is not None else None) or []
        if any(taint.key == _NOT_READY for taint in taints):
            others = [to_dict(taint) for taint in taints if taint.key != _NOT_READY]
            await self._nodes.patch(name, {"spec": {"taints": others or None}}, patch_type=PatchType.MERGE)
        with suppress(AlreadyExists):
            await self._leases.create(from_dict(V1Lease, _lease(name, self._micro_now())))

    async def _keep_renewing(self) -> None:
        while True:
            await self._clock.sleep(_RENEW)
            await self.renew_leases()

    async def renew_leases(self) -> None:
        """Renew the Lease of every node. :meth:`run` does so every ten seconds."""
        for name in tuple(self.nodes):  # others may come and go meanwhile
            renewed = {"spec": {"renewTime": self._micro_now()}}
            try:
                await self._leases.patch(name, renewed, _LEASES, patch_type=PatchType.MERGE)
            except ClientError as error:
                log.warning("lease_not_renewed", node=name, error=str(error))

    # --- pods

    async def _sync(self, key: str) -> float | None:
        if "/" not in key:
            await self._sync_node(key)
            return None
        pod = self._informer.indexer.get_by_key(key)
        self._waiting.discard(key)
        if pod is None:
            self._release(key)
            return None
        meta = pod.metadata
        try:
            if meta.deletion_timestamp is not None:
                await self._end(pod)
            elif pod.spec.node_name is None:
                if self._schedules and pod.spec.scheduler_name in (None, "default-scheduler"):
                    await self._schedule(key, pod)
            elif pod.spec.node_name in self.nodes:
                return await self._report(key, pod)
        except (NotFound, Conflict) as error:
            # The pod was deleted or changed meanwhile. The watch brings its new state.
            log.debug("pod_overtaken", pod=key, error=str(error))
        except PodScriptError as error:
            # Another try would not help. If the annotations change, an event brings the pod again.
            log.error("pod_script_not_understood", pod=key, error=str(error))
        return None

    async def _schedule(self, key: str, pod: V1Pod) -> None:
        found = first_fitting(pod.spec, map(self._node_informer.indexer.get_by_key, self._turn))
        if isinstance(found, str):
            self._turn.rotate(-1 - self._turn.index(found))
            await self._pods.bind(pod.metadata.name, found, pod.metadata.namespace)
            return
        self._waiting.add(key)
        if (status := unschedulable(pod, found, self._clock.now())) is not None:
            await self._pods.patch(pod.metadata.name, {"status": status}, pod.metadata.namespace, subresource="status")

    async def _end(self, pod: V1Pod) -> None:
        """Make a deleted pod not ready, or end it if it stays. When the cache shows that, remove it."""
        meta = pod.metadata
        node = pod.spec.node_name
        if not (self._schedules if node is None else node in self.nodes):
            return
        if (status := terminating(pod, self._clock.now())) is not None:
            await self._pods.patch(meta.name, {"status": status}, meta.namespace, subresource="status")
            return
        now = DeleteOptions(grace_period_seconds=0, preconditions=Preconditions(uid=meta.uid))
        await self._pods.delete(meta.name, meta.namespace, now)

    def _keys_of_node(self, node: V1Node) -> Iterable[str]:
        """The pods that wait for a node, and the node itself if this agent serves it by its annotation."""
        by_annotation = (node.metadata.annotations or {}).get(_FAKE) == "fake"
        return (*self._waiting, *((node.metadata.name,) if by_annotation else ()))

    async def _report(self, key: str, pod: V1Pod) -> float | None:
        """Write the present status of a pod. Return the seconds until it changes; None if it will not."""
        meta, phase = pod.metadata, pod.status.phase if pod.status is not None else None
        if phase in _ENDED:
            return None
        script = PodScript.of(meta.annotations or {})
        status, changes_in = status_at(pod, self._place(key, pod), script, self._clock.now())
        own = {each["type"] for each in status["conditions"]}  # those of others stay, such as an eviction's
        present = (pod.status.conditions if pod.status is not None else None) or ()
        status["conditions"] += [to_dict(each) for each in present if each.type not in own]
        if not _is_said(pod, status):
            await self._pods.patch(
                meta.name, {"status": status}, meta.namespace, subresource="status", patch_type=PatchType.MERGE
            )
        return None if math.isinf(changes_in) else changes_in

    def _place(self, key: str, pod: V1Pod) -> Placement:
        uid, placed = self._placed.get(key, ("", None))
        if placed is None or uid != pod.metadata.uid:
            self._release(key)
            host = self.nodes[pod.spec.node_name or ""]
            address = host if pod.spec.host_network else self._addresses.of(pod)
            placed = Placement(address, host, self._clock.now())
            self._placed[key] = (pod.metadata.uid, placed)
        return placed

    def _release(self, key: str) -> None:
        _, placement = self._placed.pop(key, ("", None))
        if placement is not None and placement.pod_ip != placement.host_ip:
            self._addresses.release(placement.pod_ip)

    # --- times

    def _micro_now(self) -> str:
        return self._clock.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _is_said(pod: V1Pod, status: dict[str, Any]) -> bool:
    """Whether the pod's status has these values already. Fields that others have added are ignored."""
    said = to_dict(pod.status) if pod.status is not None else {}
    return all(said.get(name) == without_nulls(value) for name, value in status.items())


def _node(name: str) -> dict[str, Any]:
    labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
    annotations = {"volumes.kubernetes.io/controller-managed-attach-detach": "true"}
    return {"metadata": {"name": name, "labels": labels, "annotations": annotations}}


def _lease(name: str, now: str) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "namespace": _LEASES},
        "spec": {"holderIdentity": name, "leaseDurationSeconds": _LEASE_SECONDS, "renewTime": now},
    }


def _node_status(name: str, address: str, now: str, labels: Mapping[str, str]) -> dict[str, Any]:
    """The status of a node. Its operating system and architecture are those of its labels."""
    room = {"cpu": "64", "memory": "256Gi", "pods": "1000", "ephemeral-storage": "1Ti"}
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
    return {
        "capacity": room,
        "allocatable": room,
        "addresses": [{"type": "InternalIP", "address": address}, {"type": "Hostname", "address": name}],
        "conditions": [{**ready, "lastHeartbeatTime": now, "lastTransitionTime": now}],
        "nodeInfo": {
            **dict.fromkeys(("machineID", "systemUUID", "bootID"), name),
            "kernelVersion": "6.0.0-kinformer",
            "osImage": "kinformer fake node",
            "containerRuntimeVersion": "kinformer://fake",
            "kubeletVersion": VERSION["gitVersion"],
            "kubeProxyVersion": "",
            "operatingSystem": labels.get("kubernetes.io/os", "linux"),
            "architecture": labels.get("kubernetes.io/arch", "amd64"),
        },
    }
