"""A cluster for tests of the controllers of nodes: an embedded server without loops of its own, on a turned clock."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio

from kinformer.client import AlreadyExists, Client, PatchType, connect
from kinformer.client.transport import Transport
from kinformer.clock import FakeClock
from kinformer.envtest import ApiServer
from kinformer.manager import ControllerFactory, Manager
from kinformer.models import CoreV1Event, V1Lease, V1Node, V1Pod, from_dict
from tests.turning import turn

__all__ = ("Cluster", "cluster", "ready", "toleration")


def toleration(key: str, seconds: int | None = None) -> dict[str, Any]:
    """That a NoExecute taint is tolerated: for so long, or for ever."""
    tolerated = {"key": key, "operator": "Exists", "effect": "NoExecute"}
    return tolerated if seconds is None else {**tolerated, "tolerationSeconds": seconds}


def ready(status: str, clock: FakeClock, type_: str = "Ready") -> dict[str, Any]:
    """A node's condition, reported now."""
    now = clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"type": type_, "status": status, "lastHeartbeatTime": now, "lastTransitionTime": now}


@dataclass
class Cluster:
    """What a user of the cluster does and sees."""

    server: ApiServer
    client: Client
    clock: FakeClock
    manager: Manager

    async def turn(self, seconds: float) -> None:
        await turn(self.clock, seconds)

    # Nodes

    async def make_node(
        self, name: str, status: str | None = "True", *, labels: Mapping[str, str] | None = None, **spec: Any
    ) -> None:
        """:param status: of its Ready condition; None if it has none"""
        node: dict[str, Any] = {"metadata": {"name": name, "labels": dict(labels or {})}, "spec": spec}
        if status is not None:
            node["status"] = {"conditions": [ready(status, self.clock)]}
        await self.client.resource(V1Node).create(from_dict(V1Node, node))

    async def report(self, name: str, status: str, type_: str = "Ready") -> None:
        """What the kubelet says of a condition of its node."""
        body = {"status": {"conditions": [ready(status, self.clock, type_)]}}
        await self.client.resource(V1Node).patch(name, body, subresource="status")

    async def renew(self, name: str) -> None:
        """The kubelet renews its node's Lease."""
        leases = self.client.resource(V1Lease)
        spec = {"renewTime": self.clock.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")}
        lease = {"metadata": {"name": name, "namespace": "kube-node-lease"}, "spec": spec}
        try:
            await leases.create(from_dict(V1Lease, lease))
        except AlreadyExists:
            await leases.patch(name, {"spec": spec}, "kube-node-lease", patch_type=PatchType.MERGE)

    async def set_taints(self, name: str, *keys: str, effect: str = "NoExecute") -> None:
        """Give a node these taints and no others."""
        taints = [{"key": key, "effect": effect} for key in keys]
        body = {"spec": {"taints": taints or None}}
        await self.client.resource(V1Node).patch(name, body, patch_type=PatchType.MERGE)

    async def taints(self, name: str) -> list[str]:
        """As ``key:Effect``, sorted; without the prefix of Kubernetes' own."""
        node = await self.client.resource(V1Node).get(name)
        return sorted(
            f"{taint.key.removeprefix('node.kubernetes.io/')}:{taint.effect}" for taint in node.spec.taints or ()
        )

    async def conditions(self, name: str) -> dict[str, str]:
        node = await self.client.resource(V1Node).get(name)
        return {each.type: each.status for each in node.status.conditions or ()}

    # Pods

    async def make_pod(self, name: str, node: str = "", tolerations: Sequence[dict[str, Any]] = ()) -> None:
        spec: dict[str, Any] = {"containers": [{"name": "c", "image": "i"}], "tolerations": list(tolerations)}
        if node:
            spec["nodeName"] = node
        await self.client.resource(V1Pod).create(
            from_dict(V1Pod, {"metadata": {"name": name, "namespace": "default"}, "spec": spec})
        )

    async def run_pod(self, name: str) -> None:
        """The kubelet says that the pod runs and is ready."""
        status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        await self.client.resource(V1Pod).patch(name, {"status": status}, "default", subresource="status")

    async def pod(self, name: str) -> V1Pod:
        return await self.client.resource(V1Pod).get(name, "default")

    async def staying(self) -> list[str]:
        """The pods that nobody has deleted, by name."""
        pods = (await self.client.resource(V1Pod).list("default")).items
        return sorted(pod.metadata.name for pod in pods if pod.metadata.deletion_timestamp is None)

    # What was said

    async def events(self, reason: str = "") -> list[str]:
        """The messages of the Events, of one reason or of all, as often as each was said."""
        events = (await self.client.resource(CoreV1Event).list("default")).items
        events.sort(key=lambda event: event.metadata.creation_timestamp)
        return [
            event.message or "" for event in events for _ in range(event.count or 1) if reason in ("", event.reason)
        ]


@asynccontextmanager
async def cluster(
    controllers: Mapping[str, ControllerFactory],
    options: Mapping[str, Any] | None = None,
    transport: type[Transport] | None = None,
    apis: Sequence[str] = (),
) -> AsyncIterator[Cluster]:
    """
    A server, and a manager with these controllers.

    :param apis: versions that the server has besides those that are on by default
    :param transport: through which the manager speaks, made as a :class:`Transport` is; the usual one if None
    """
    clock = FakeClock()
    async with (
        ApiServer(clock=clock, controllers=False, apis=apis) as server,
        connect(url=server.url, token=server.token, clock=clock) as client,
    ):
        manager = Manager(client, known=controllers, options=options, clock=clock)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(manager.run)
            found = Cluster(server, client, clock, manager)
            await found.turn(0)
            yield found
            tasks.cancel_scope.cancel()
