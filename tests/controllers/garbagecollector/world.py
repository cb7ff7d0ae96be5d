"""A garbage collector at work on an embedded server whose own loop for that is off, on a clock that is turned."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio

from kinformer.client import Client, DeleteOptions, NotFound, connect
from kinformer.client.types import DeletionPropagation
from kinformer.clock import FakeClock
from kinformer.envtest import ApiServer
from kinformer.manager import ControllerContext, Manager
from kinformer.meta import GroupVersionResource
from kinformer_controllers.garbagecollector.controller import GarbageCollector
from kinformer_controllers.garbagecollector.following import is_followed
from tests.golden.pace import scenario_clock
from tests.turning import eventually, quiet, turn

__all__ = ("WIDGETS", "World", "collecting")

WIDGETS = GroupVersionResource("example.com", "v1", "widgets")

_PLACES = {
    "ConfigMap": ("v1", GroupVersionResource("", "v1", "configmaps")),
    "Secret": ("v1", GroupVersionResource("", "v1", "secrets")),
    "Namespace": ("v1", GroupVersionResource("", "v1", "namespaces")),
    "ClusterRole": (
        "rbac.authorization.k8s.io/v1",
        GroupVersionResource("rbac.authorization.k8s.io", "v1", "clusterroles"),
    ),
    "Widget": ("example.com/v1", WIDGETS),
}


class World:
    """What a test does to the server, and sees of it."""

    def __init__(self, server: ApiServer, client: Client, clock: FakeClock, manager: Manager) -> None:
        self.server = server
        self.client = client
        self.clock = clock
        self.manager = manager

    @property
    def collector(self) -> GarbageCollector:
        found = self.manager.controllers["garbagecollector"]
        assert isinstance(found, GarbageCollector)
        return found

    def of(self, kind: str) -> Any:
        return self.client.resource(dict, _PLACES[kind][1])

    async def make(
        self,
        kind: str,
        name: str,
        *owners: dict[str, Any],
        namespace: str = "default",
        block: bool | None = None,
        finalizers: list[str] | None = None,
    ) -> dict[str, Any]:
        """An object that names these others as its owners."""
        api_version, _ = _PLACES[kind]
        metadata: dict[str, Any] = {"name": name}
        if kind not in ("ClusterRole", "Namespace"):
            metadata["namespace"] = namespace
        if owners:
            metadata["ownerReferences"] = [self.reference(owner, block) for owner in owners]
        if finalizers:
            metadata["finalizers"] = finalizers
        made: dict[str, Any] = await self.of(kind).create(
            {"apiVersion": api_version, "kind": kind, "metadata": metadata}
        )
        return made

    @staticmethod
    def reference(owner: dict[str, Any], block: bool | None = None) -> dict[str, Any]:
        meta = owner["metadata"]
        found = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": meta["name"], "uid": meta["uid"]}
        return found if block is None else {**found, "blockOwnerDeletion": block}

    async def delete(self, obj: dict[str, Any], propagation: DeletionPropagation = "Background") -> None:
        meta = obj["metadata"]
        options = DeleteOptions(propagation_policy=propagation)
        await self.of(obj["kind"]).delete(meta["name"], meta.get("namespace", ""), options)

    async def get(self, obj: dict[str, Any]) -> dict[str, Any] | None:
        """The object as it is now; None if it is gone."""
        meta = obj["metadata"]
        try:
            found: dict[str, Any] = await self.of(obj["kind"]).get(meta["name"], meta.get("namespace", ""))
        except NotFound:
            return None
        return found if found["metadata"]["uid"] == meta["uid"] else None

    async def are_gone(self, *objects: dict[str, Any]) -> None:
        """Return when these are gone."""

        async def all_gone() -> bool:
            return not any([await self.get(obj) for obj in objects])

        await eventually(all_gone, self.clock)

    async def stay(self, *objects: dict[str, Any], seconds: float = 60.0) -> None:
        """Some time passes, and these are there, not even being deleted."""
        await turn(self.clock, seconds)
        for obj in objects:
            found = await self.get(obj)
            assert found is not None, f"{obj['metadata']['name']} is gone"
            assert "deletionTimestamp" not in found["metadata"], f"{obj['metadata']['name']} is being deleted"

    async def knows(self, *objects: dict[str, Any]) -> None:
        """Return when the collector has seen these."""
        nodes = self.collector.graph.nodes

        def all_seen() -> bool:
            uids = [obj["metadata"]["uid"] for obj in objects]
            return all(uid in nodes and not nodes[uid].is_virtual for uid in uids)

        await eventually(all_seen, self.clock)
        await quiet()

    async def events(self, namespace: str = "default") -> list[str]:
        found = (await self.client.resource(dict, ("", "v1", "events")).list(namespace)).items
        return [f"{one['reason']} {one['involvedObject']['name']}: {one['message']}" for one in found]


def _make_collector(context: ControllerContext) -> GarbageCollector:
    built_in = {gvr.group_resource for _, gvr in _PLACES.values()}
    return GarbageCollector(
        context,
        follows=lambda kind: (
            is_followed(kind) and (kind in built_in or "example" in kind.group or kind.resource == "events")
        ),
    )


@asynccontextmanager
async def collecting(*others: str, **options: Any) -> AsyncIterator[World]:
    """
    Without others or options it follows the kinds of these tests alone: that is half of the CPU time.

    :param others: controllers to run beside it
    :param options: its own
    """
    known = None if others or options else {"garbagecollector": _make_collector}
    clock = scenario_clock()
    async with (
        ApiServer(clock=clock, controllers=False) as server,
        connect(url=server.url, token=server.token, clock=clock) as client,
        anyio.create_task_group() as tasks,
    ):
        names = ("garbagecollector", *others)
        manager = Manager(client, controllers=names, known=known, clock=clock, options=options)
        tasks.start_soon(manager.run)
        world = World(server, client, clock, manager)
        if options.get("enable_garbage_collector", True):
            await eventually(lambda: world.collector.has_synced, clock)
        yield world
        tasks.cancel_scope.cancel()
