"""Many nodes in three zones on a turned clock: when which of them are tainted, by what Kubernetes' own rates say.

The server is left out: the caches are filled by the test, and what is written goes back into them. So there are no
seconds but those of the rates.
"""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from types import SimpleNamespace
from typing import Any

import anyio

from kinformer.clock import FakeClock
from kinformer.models import V1Node, V1NodeCondition, V1NodeSpec, V1NodeStatus, V1ObjectMeta, V1Taint
from kinformer.record import Recorder
from kinformer_controllers.nodelifecycle.controller import NodeLifecycleController
from tests.controllers.objects import FakeContext, FakeInformers

ZONES = ("a", "b", "c")
_versions = itertools.count(1)


class World:
    """Nodes of which every third is in the same zone. Those that are alive report every 40 seconds."""

    def __init__(self, clock: FakeClock, count: int, **options: float) -> None:
        self.clock = clock
        self.count = count
        self.informers = FakeInformers()
        #: When each node was tainted NoExecute, in seconds since the start, by name.
        self.tainted: dict[str, float] = {}
        client = self.informers.client = SimpleNamespace(resource=self._resource)
        recorder = Recorder(lambda event: None, "node-controller", "", clock)
        self.controller = NodeLifecycleController(FakeContext(client, self.informers, recorder, clock=clock, **options))
        self.nodes = self.informers.informer_for(V1Node).indexer
        for number in range(count):
            labels = {"topology.kubernetes.io/zone": ZONES[number % 3]}
            self.put(f"n{number}", labels, "True", clock.now(), None)
        self.alive = set(self.nodes.list_keys())

    def zone(self, zone: str) -> list[str]:
        return [f"n{number}" for number in range(self.count) if ZONES[number % 3] == zone]

    def put(self, name: str, labels: Any, ready: str, heartbeat: datetime | None, taints: Any) -> None:
        version = str(next(_versions))
        condition = V1NodeCondition(type="Ready", status=ready, last_heartbeat_time=heartbeat)
        self.nodes.add(
            V1Node(
                metadata=V1ObjectMeta(
                    name=name, uid=name, labels=labels, resource_version=version, creation_timestamp=self.clock.start
                ),
                spec=V1NodeSpec(taints=taints),
                status=V1NodeStatus(conditions=[condition]),
            )
        )

    def report(self) -> None:
        """The nodes that are alive say that they are ready."""
        for name in self.alive:
            node = self.nodes.get_by_key(name)
            self.put(name, node.metadata.labels, "True", self.clock.now(), node.spec.taints)

    async def turn(self, seconds: float) -> None:
        """Let so many seconds pass."""
        end = self.clock.monotonic() + seconds
        while (left := end - self.clock.monotonic()) > 0:
            until_report = 40 - self.clock.monotonic() % 40
            await self.clock.advance(min(until_report, left))
            if until_report <= left:
                self.report()

    def silence(self, zone: str, share: float = 1.0) -> None:
        names = self.zone(zone)
        self.alive.difference_update(names[: round(len(names) * share)])

    def times(self, zone: str) -> list[float]:
        """When nodes of a zone were tainted that are so still."""
        names = set(self.zone(zone))
        return sorted(round(when, 3) for name, when in self.tainted.items() if name in names)

    # The server

    def _resource(self, model: type[Any], *_: Any, **__: Any) -> Any:
        async def get(name: str, namespace: str = "", *, resource_version: str = "") -> Any:
            return self.informers.informer_for(model).indexer.get_by_key(name)

        async def list_leases(*_: Any) -> Any:
            return SimpleNamespace(items=[])

        async def patch(name: str, body: dict[str, Any], namespace: str = "", *, subresource: str = "") -> Any:
            node = self.nodes.get_by_key(name)
            ready, taints = ready_of(node), node.spec.taints
            status = ready.status
            if subresource:
                status = next(one["status"] for one in body["status"]["conditions"] if one["type"] == "Ready")
            else:
                taints = [V1Taint(key=one["key"], effect=one["effect"]) for one in body["spec"]["taints"] or ()] or None
                if taints:
                    self.tainted.setdefault(name, self.clock.monotonic())
                else:
                    self.tainted.pop(name, None)
            self.put(name, node.metadata.labels, status, ready.last_heartbeat_time, taints)
            return self.nodes.get_by_key(name)

        return SimpleNamespace(get=get, patch=patch, list=list_leases)


def ready_of(node: V1Node) -> V1NodeCondition:
    return next(one for one in node.status.conditions or () if one.type == "Ready")


@asynccontextmanager
async def running(count: int = 300, **options: Any) -> AsyncIterator[World]:
    """The monitor and the tainter of a cluster in which all nodes have been ready for 80 seconds."""
    clock = FakeClock()
    world = World(clock, count, **options)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(world.controller.tainter.run)
        tasks.start_soon(world.controller.checks.run)
        await world.turn(80)
        assert not world.tainted
        yield world
        tasks.cancel_scope.cancel()


#: After the last report, at 80 s: the pass at 85 s sees it, and the first one that is more than 50 s later is at 140 s.
UNKNOWN = 140.0


def every(seconds: float, start: float, end: float) -> list[float]:
    """The times from the start on, so far apart, up to the end."""
    return [start + number * seconds for number in range(1 + int((end - start) // seconds))]


async def test_nodes_are_tainted_at_the_seconds_that_kubernetes_rates_say() -> None:
    async with running(600) as world:
        # A part of zone a, all of zone b: the one at 0.01 a second, the other at 0.1. The first goes at once.
        world.silence("a", 0.6)
        world.silence("b")
        await world.turn(270)
        assert world.times("a") == every(100, UNKNOWN, 350)
        assert world.times("b") == every(10, UNKNOWN, 350)
        assert world.times("c") == []

        # The rest as well: the pass in which the last node is unknown stops everything, and takes the taints back.
        dark = world.clock.monotonic()
        world.alive.clear()
        await world.turn(100)
        assert world.tainted == {}

        # One zone comes back. The pass that sees it has the others resume: no token was gained by waiting.
        world.alive.update(world.zone("c"))
        world.report()
        seen = 455.0
        assert (dark, world.clock.monotonic()) == (350.0, 450.0)
        await world.turn(200)
        assert world.times("c") == []
        for zone in ("a", "b"):
            assert world.times(zone) == every(10, seen + 10, 650)


async def test_a_part_of_a_small_zone_that_is_dark_is_not_tainted() -> None:
    async with running(large_cluster_size_threshold=100) as world:
        world.silence("a", 0.6)
        await world.turn(600)

        assert world.times("a") == []


async def test_a_zone_with_many_unready_nodes_slows_down_and_recovers() -> None:
    async with running() as world:
        world.silence("a", 0.3)
        await world.turn(100)
        assert world.times("a") == every(10, UNKNOWN, 180)

        world.silence("a", 0.6)
        await world.turn(300)
        slow = [when for when in world.times("a") if when > 240]
        assert [round(b - a) for a, b in itertools.pairwise(slow)] == [100] * (len(slow) - 1)
        assert len(slow) >= 2


async def test_returning_nodes_lose_their_taints_and_place_in_the_queue() -> None:
    async with running() as world:
        world.silence("a", 0.6)
        await world.turn(200)
        assert world.times("a")
        world.alive.update(world.zone("a"))
        await world.turn(600)

        assert world.times("a") == []
        assert [len(queue) for queue in world.controller.tainter.zones.values()] == [0, 0, 0]


async def test_a_pass_makes_no_request_about_nodes_of_which_nothing_has_changed() -> None:
    async with running() as world:
        before = next(_versions)
        await world.controller.monitor.check()

        assert next(_versions) == before + 1


async def test_a_pass_gives_the_event_loop_its_turn() -> None:
    async with running(1000) as world:
        turns = 0

        async def count() -> None:
            nonlocal turns
            while True:
                await anyio.lowlevel.checkpoint()
                turns += 1

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(count)
            await world.controller.monitor.check()
            tasks.cancel_scope.cancel()
        assert turns >= 1000 // (8 * 16)  # eight workers, sixteen nodes each
