"""Managers that share the keys out: they join, leave, die, with the ReplicaSet controller on many namespaces."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

import pytest

from kinformer.client import connect
from kinformer.envtest import ApiServer
from kinformer.leaderelection import TERM_ANNOTATION
from kinformer.manager import Controller, ControllerContext, Group, Manager, MembershipLost, OptionError, Sharding
from kinformer.models import V1ConfigMap, V1Lease, V1Node, V1ObjectMeta, V1Pod, V1ReplicaSet
from kinformer.sharding import DEFAULT_GROUP, Load, Table
from kinformer.spec import ControllerSpec
from tests.manager.shard_worlds import NAMESPACES, a_world, replica_set
from tests.turning import eventually, turn


async def test_two_managers_hold_their_own_namespaces_and_together_all() -> None:
    async with a_world() as world:
        a = world.start("a")
        await world.until_shared(a)
        b = world.start("b")
        await world.until_shared(a, b)
        keys = await world.make()
        await eventually(lambda: len(a.synced) + len(b.synced) >= len(keys), world.clock)

        assert Counter(a.synced + b.synced) == Counter(keys)
        assert a.cached(V1ConfigMap) == set(a.synced)
        assert b.cached(V1ConfigMap) == set(b.synced)
        assert a.synced
        assert b.synced
        for process in (a, b):
            assert process.manager.shards is not None
            loads = {it.name: it.load for it in process.manager.shards.snapshot().members}
            its = loads[process.manager.shards.member.name]
            assert its == Load(len(process.cached(V1ConfigMap)), len(process.synced))


async def test_a_new_member_gets_its_ranges_and_the_others_release_them() -> None:
    async with a_world() as world:
        keys = await world.make()
        a = world.start("a")
        await world.until_shared(a)
        await eventually(lambda: set(a.synced) == keys, world.clock)
        b = world.start("b")
        await world.until_shared(a, b)
        await eventually(lambda: a.cached(V1ConfigMap).isdisjoint(b.synced) and bool(b.synced), world.clock)
        await turn(world.clock, 5)

        assert a.cached(V1ConfigMap) | b.cached(V1ConfigMap) == keys
        assert a.cached(V1ConfigMap).isdisjoint(b.cached(V1ConfigMap))
        assert set(b.synced) == b.cached(V1ConfigMap)
        assert Counter(a.synced) == Counter(keys)  # nothing that was told as gone was synced again


async def test_who_leaves_hands_its_keys_over_within_two_rounds() -> None:
    async with a_world() as world:
        keys = await world.make()
        a = world.start("a")
        await world.until_shared(a)
        b = world.start("b")
        await world.until_shared(a, b)
        began = world.clock.monotonic()
        a.scope.cancel()
        await world.until_shared(b)

        assert world.clock.monotonic() - began < 5
        await eventually(lambda: set(b.synced) == keys, world.clock)
        assert a.ended
        assert a.error is None


async def test_a_stopped_member_hands_over_all_ranges_without_running_syncs() -> None:
    async with a_world() as world:
        keys = await world.make()
        a = world.start("a")
        await world.until_shared(a)
        await eventually(lambda: set(a.synced) == keys and not a.running, world.clock)
        a.takes = 20.0
        await world.client.resource(V1ConfigMap).patch("c", {"data": {"a": "b"}}, NAMESPACES[0])
        await eventually(lambda: bool(a.running), world.clock)
        b = world.start("b")
        world.start_soon(a.manager.stop)
        await eventually(lambda: len(b.owned) == 63, world.clock)

        assert a.running == {f"{NAMESPACES[0]}/c"}
        assert a.manager.inspector.snapshot().shards is not None
        await world.until_shared(b)
        assert a.ended
        assert a.error is None


async def test_a_cut_syncs_range_is_handed_over_after_its_write_arrived() -> None:
    async with a_world() as world:
        keys = await world.make()
        a = world.start("a")
        await world.until_shared(a)
        await eventually(lambda: set(a.synced) == keys and not a.running, world.clock)
        a.takes = 1000.0
        await world.client.resource(V1ConfigMap).patch("c", {"data": {"a": "b"}}, NAMESPACES[0])
        await eventually(lambda: bool(a.running), world.clock)
        b = world.start("b")
        world.start_soon(partial(a.manager.stop, 5.0))
        await eventually(lambda: not a.running, world.clock)
        cut = world.clock.monotonic()
        await world.until_shared(b)

        assert world.clock.monotonic() - cut >= 2.5


async def test_a_lost_members_keys_are_taken_over_after_its_lease() -> None:
    async with a_world() as world:
        await world.make()
        a = world.start("a")
        await world.until_shared(a)
        b = world.start("b")
        await world.until_shared(a, b)
        a.is_cut = True
        began = world.clock.monotonic()
        await eventually(lambda: a.ended or None, world.clock)
        ended = world.clock.monotonic() - began
        await world.until_shared(b)
        took = world.clock.monotonic() - began

        assert isinstance(a.error, MembershipLost)
        assert ended < 12.5 < took < 15 + 2 * 2 + 1


async def test_cluster_objects_are_held_by_all_and_synced_by_one() -> None:
    async with a_world() as world:
        synced: dict[str, list[str]] = {"a": [], "b": []}

        def nodes_of(name: str) -> dict[str, Any]:
            def make(context: ControllerContext) -> Controller:
                async def sync(key: str) -> None:
                    synced[name].append(key)

                return Controller("nodes", sync, clock=context.clock).watch(context.informers.informer_for(V1Node))

            return {"nodes": make}

        names = {f"node-{number}" for number in range(20)}
        for name in names:
            await world.client.resource(V1Node).create(V1Node(metadata=V1ObjectMeta(name=name)))
        a = world.start("a", nodes_of("a"))
        await world.until_shared(a)
        b = world.start("b", nodes_of("b"))
        await world.until_shared(a, b)
        assert a.cached(V1Node) == b.cached(V1Node) == names
        a.scope.cancel()
        await world.until_shared(b)
        await turn(world.clock, 1)

        assert set(synced["a"]) == names
        assert set(synced["b"]) == names


async def test_replica_sets_have_exact_pods_while_managers_come_and_go() -> None:
    from kinformer_controllers.replicaset.controller import make_controller

    known = {"replicaset": make_controller}
    async with a_world() as world:
        pods, sets = world.client.resource(V1Pod), world.client.resource(V1ReplicaSet)

        async def counts() -> Counter[str]:
            return Counter(pod.metadata.namespace for pod in (await pods.list()).items)

        async def all_have(replicas: int) -> bool:
            return await counts() == Counter(dict.fromkeys(NAMESPACES, replicas))

        a, b = world.start("a", known), world.start("b", known)
        await world.until_shared(a, b)
        for namespace in NAMESPACES:
            await sets.create(replica_set(namespace))
        c = world.start("c", known)
        await eventually(lambda: all_have(3), world.clock)
        await world.until_shared(a, b, c)
        for namespace in NAMESPACES:
            await sets.patch("web", {"spec": {"replicas": 5}}, namespace)
        a.scope.cancel()
        await eventually(lambda: all_have(5), world.clock)
        b.is_cut = True
        for namespace in NAMESPACES:
            await sets.patch("web", {"spec": {"replicas": 2}}, namespace)
        await eventually(lambda: all_have(2), world.clock)
        await world.until_shared(c)
        await turn(world.clock, 30)

        assert await all_have(2)
        assert c.cached(V1Pod) == {f"{pod.metadata.namespace}/{pod.metadata.name}" for pod in (await pods.list()).items}


async def test_objects_divided_by_uid_may_share_one_namespace() -> None:
    synced: dict[str, set[str]] = {"a": set(), "b": set()}

    def make(name: str, context: ControllerContext) -> Controller:
        async def sync(key: str) -> None:
            synced[name].add(key)

        maps = context.informers.informer_for(V1ConfigMap)
        controller = Controller("by-uid", sync, shard_by=lambda key: key.partition(" ")[0], clock=context.clock)
        return controller.watch_mapped(maps, lambda it: [f"{it.metadata.uid} {it.metadata.name}"])

    async with a_world() as world:
        members = [
            world.start(name, {"by-uid": partial(make, name)}, by_uid=(V1ConfigMap, V1Node)) for name in ("a", "b")
        ]
        await world.until_shared(*members)
        keys = set()
        for number in range(40):
            made = V1ConfigMap(metadata=V1ObjectMeta(name=f"map-{number}", namespace="default"))
            made = await world.client.resource(V1ConfigMap).create(made)
            keys.add(f"{made.metadata.uid} {made.metadata.name}")
        await eventually(lambda: synced["a"] | synced["b"] >= keys, world.clock)

        a, b = (member.cached(V1ConfigMap) for member in members)
        assert a
        assert b
        assert a.isdisjoint(b)
        assert a | b == {f"default/map-{number}" for number in range(40)}
        for cached, its in ((a, synced["a"]), (b, synced["b"])):
            assert {f"default/{key.partition(' ')[2]}" for key in its} == cached

        members[0].scope.cancel()
        await world.until_shared(members[1])
        await eventually(lambda: synced["b"] == keys, world.clock)
        assert members[1].cached(V1ConfigMap) == a | b


async def test_a_controller_that_looks_at_everything_cannot_be_sharded() -> None:
    async with ApiServer() as server, connect(url=server.url, token=server.token) as client:
        with pytest.raises(OptionError, match="podgc cannot be sharded, as each looks at"):
            Manager(client, controllers=["replicaset", "podgc"], sharding=Sharding())


#: The keys that each controller of :func:`make_beside` has synced.
BESIDE: list[set[str]] = []


def make_beside(context: ControllerContext) -> Group:
    """A controller without event sources. Another one adds the keys of all namespaces to it."""
    maps, synced = context.informers.informer_for(V1ConfigMap), set[str]()
    BESIDE.append(synced)

    async def sync(key: str) -> None:
        synced.add(key)

    async def add_all(_: str) -> None:
        for namespace in NAMESPACES:
            beside.queue.add(f"{namespace}/c")

    beside = Controller("beside", sync, clock=context.clock).wait_for(maps)
    return Group(Controller("adding", add_all, clock=context.clock).watch(maps), beside)


async def test_keys_of_a_controller_without_sources_are_shared_too() -> None:
    BESIDE.clear()
    spec = ControllerSpec(name="beside", factory=f"{__name__}:make_beside", sharded_by="namespace")
    async with a_world() as world:
        await world.until_shared(*(world.start(name, {"beside": spec}) for name in ("a", "b")))
        keys = await world.make()
        await turn(world.clock, 1)

    a, b = BESIDE
    assert a | b == keys
    assert a.isdisjoint(b)


async def test_what_the_group_is_like_can_be_looked_at() -> None:
    async with a_world() as world:
        a = world.start("a")
        await world.until_shared(a)
        assert a.manager.shards is not None
        snapshot = a.manager.shards.snapshot()
        assert snapshot.group == "kube-system/kinformer-manager-shards"
        assert [len(member.ranges) for member in snapshot.members] == [64]


async def test_fenced_writes_carry_the_name_that_the_table_has() -> None:
    async with a_world() as world:
        a = world.start("a")
        await world.until_shared(a)
        maps = a.manager.context.client.resource(V1ConfigMap)
        written = await maps.create(V1ConfigMap(metadata=V1ObjectMeta(name="c", namespace=NAMESPACES[0])))
        table = await world.client.resource(V1Lease).get(DEFAULT_GROUP, "kube-system")
        assert set(Table.read(table.metadata.annotations).owners) == {written.metadata.annotations[TERM_ANNOTATION]}


async def test_a_broken_table_is_named_by_readyz_until_it_is_replaced() -> None:
    async with a_world() as world:
        table = V1Lease(metadata=V1ObjectMeta(name=DEFAULT_GROUP, namespace="kube-system"))
        await world.client.resource(V1Lease).create(table)
        member = world.start("a")
        member.has_no_puts = True
        shards = member.manager.shards
        assert shards is not None
        await eventually(lambda: "the annotation kinformer.dev/shards is missing" in shards.unready(), world.clock)
        member.has_no_puts = False
        await world.until_shared(member)

        assert not shards.unready()
