"""Managers that divide one namespace between them: each holds the pods of its own owners, and every pod without one."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest

from kinformer.client import DeleteOptions, PatchType, connect
from kinformer.envtest import ApiServer
from kinformer.manager import Manager, OptionError, Sharding, ShardingConflict
from kinformer.meta import get_controller_of
from kinformer.models import V1Job, V1Pod, V1ReplicaSet, from_dict
from kinformer.spec import ControllerSpec
from kinformer_controllers.job.jobs import TRACKING_FINALIZER
from kinformer_controllers.job.spec import SPEC as JOBS
from kinformer_controllers.replicaset.spec import SPEC as REPLICA_SETS
from scripts.catalogue import specs
from tests.manager.shard_worlds import NAMESPACES, Process, World, a_world, replica_set
from tests.turning import eventually, turn

HOT = NAMESPACES[0]
SETS = [f"web-{number}" for number in range(12)]
KNOWN = {"replicaset": REPLICA_SETS}


async def two_members(world: World, known: dict[str, Any] | None = None) -> tuple[Process, Process]:
    a, b = (world.start(name, known or KNOWN, by="owner") for name in ("a", "b"))
    await world.until_shared(a, b)
    return a, b


async def make_sets(world: World, names: list[str] = SETS) -> None:
    for name in names:
        await world.client.resource(V1ReplicaSet).create(replica_set(HOT, name))


async def pods(world: World) -> list[V1Pod]:
    return [pod for pod in (await world.client.resource(V1Pod).list(HOT)).items if not pod.metadata.deletion_timestamp]


async def counts(world: World) -> Counter[str]:
    owners = [get_controller_of(pod) for pod in await pods(world)]
    return Counter(owner.name if owner is not None else "" for owner in owners)


async def until(world: World, expected: dict[str, int]) -> None:
    async def is_so() -> bool:
        return await counts(world) == Counter(expected)

    await eventually(is_so, world.clock)


def owner_of(process: Process, pod: str) -> str:
    found = process.manager.context.informers.informer_for(V1Pod).indexer.get_by_key(f"{HOT}/{pod}")
    owner = get_controller_of(found)
    return owner.name if owner is not None else ""


def a_pod(name: str, **labels: str) -> V1Pod:
    spec = {"containers": [{"name": "c", "image": "i"}]}
    return from_dict(V1Pod, {"metadata": {"name": name, "namespace": HOT, "labels": labels}, "spec": spec})


async def test_two_members_divide_the_pods_of_one_namespace() -> None:
    async with a_world() as world:
        a, b = await two_members(world)
        await make_sets(world)
        await until(world, dict.fromkeys(SETS, 3))
        await turn(world.clock, 1)

        sets, of_pods = ([process.cached(type_) for process in (a, b)] for type_ in (V1ReplicaSet, V1Pod))
        for parts, total in ((sets, 12), (of_pods, 36)):
            assert all(parts)
            assert parts[0].isdisjoint(parts[1])
            assert len(parts[0] | parts[1]) == total
        for process, its in zip((a, b), sets, strict=True):
            owners = {owner_of(process, key.partition("/")[2]) for key in process.cached(V1Pod)}
            assert owners == {key.partition("/")[2] for key in its}


async def test_each_set_has_its_pods_while_members_come_and_go() -> None:
    async with a_world() as world:
        a, b = await two_members(world)
        await make_sets(world)
        c = world.start("c", KNOWN, by="owner")
        await until(world, dict.fromkeys(SETS, 3))
        await world.until_shared(a, b, c)
        a.scope.cancel()
        for name in SETS:
            await world.client.resource(V1ReplicaSet).patch(name, {"spec": {"replicas": 5}}, HOT)
        await until(world, dict.fromkeys(SETS, 5))
        b.is_cut = True
        for name in SETS:
            await world.client.resource(V1ReplicaSet).patch(name, {"spec": {"replicas": 2}}, HOT)
        await until(world, dict.fromkeys(SETS, 2))
        await world.until_shared(c)
        await turn(world.clock, 30)

        assert await counts(world) == Counter(dict.fromkeys(SETS, 2))
        assert len(c.cached(V1Pod)) == 24


async def test_an_orphan_is_held_by_all_until_its_owner_adopts_it() -> None:
    async with a_world() as world:
        a, b = await two_members(world)
        orphans = [f"orphan-{name}" for name in SETS]
        for name in SETS:
            await world.client.resource(V1Pod).create(a_pod(f"orphan-{name}", app=name))
        keys = {f"{HOT}/{name}" for name in orphans}
        await eventually(lambda: a.cached(V1Pod) == b.cached(V1Pod) == keys, world.clock)
        await make_sets(world)
        await until(world, dict.fromkeys(SETS, 3))
        await turn(world.clock, 1)

        assert {pod.metadata.name for pod in await pods(world)} >= set(orphans)
        assert a.cached(V1Pod).isdisjoint(b.cached(V1Pod))
        assert len(a.cached(V1Pod) | b.cached(V1Pod)) == 36


async def test_a_pod_that_its_owner_releases_is_held_by_all() -> None:
    async with a_world() as world:
        a, b = await two_members(world)
        await make_sets(world)
        await until(world, dict.fromkeys(SETS, 3))
        released = [next(pod.metadata.name for pod in await pods(world) if _is_of(pod, name)) for name in SETS]
        for name in released:
            await world.client.resource(V1Pod).patch(name, {"metadata": {"labels": {"app": "none"}}}, HOT)
        await until(world, {"": 12, **dict.fromkeys(SETS, 3)})
        await turn(world.clock, 1)

        assert a.cached(V1Pod) & b.cached(V1Pod) == {f"{HOT}/{name}" for name in released}


def _is_of(pod: V1Pod, owner: str) -> bool:
    reference = get_controller_of(pod)
    return reference is not None and reference.name == owner


async def test_a_pod_that_gets_another_owner_leaves_the_member_of_the_first() -> None:
    async with a_world() as world:
        a, b = await two_members(world)
        await make_sets(world)
        await until(world, dict.fromkeys(SETS, 3))
        await turn(world.clock, 1)
        # Its labels still match the set that it comes from, which makes another one in its place. The other set
        # releases it, as it does not select it, and the first one takes it back and deletes one.
        loses, gets = (min(process.cached(V1ReplicaSet)).partition("/")[2] for process in (a, b))
        moved = next(pod for pod in await pods(world) if _is_of(pod, loses))
        target = await world.client.resource(V1ReplicaSet).get(gets, HOT)
        reference = {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "name": gets,
            "uid": target.metadata.uid,
            "controller": True,
        }
        metadata = {"ownerReferences": [reference], "labels": {"app": gets}}
        await world.client.resource(V1Pod).patch(
            moved.metadata.name, {"metadata": metadata}, HOT, patch_type=PatchType.MERGE
        )
        key = f"{HOT}/{moved.metadata.name}"
        await eventually(lambda: key not in a.cached(V1Pod), world.clock)
        await until(world, dict.fromkeys(SETS, 3))
        await turn(world.clock, 1)

        assert await counts(world) == Counter(dict.fromkeys(SETS, 3))
        assert a.cached(V1Pod).isdisjoint(b.cached(V1Pod))
        assert len(a.cached(V1Pod) | b.cached(V1Pod)) == 36


async def test_jobs_of_one_namespace_are_divided_and_their_orphans_released() -> None:
    # So many that chance gives them all to one member once in a million times.
    names = [f"job-{number}" for number in range(20)]
    async with a_world() as world:
        a, b = await two_members(world, {"job": JOBS})
        jobs = world.client.resource(V1Job)
        template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
        for name in names:
            metadata = {"name": name, "namespace": HOT}
            await jobs.create(
                from_dict(V1Job, {"metadata": metadata, "spec": {"parallelism": 1, "template": template}})
            )
        await until(world, dict.fromkeys(names, 1))
        assert a.cached(V1Job)
        assert b.cached(V1Job)
        stray = a_pod("stray")
        stray.metadata.finalizers = [TRACKING_FINALIZER]
        await world.client.resource(V1Pod).create(stray)
        for name in names:
            await jobs.delete(name, HOT, DeleteOptions(propagation_policy="Background"))

        async def are_released() -> bool:
            return not any(pod.metadata.finalizers for pod in await pods(world))

        await eventually(are_released, world.clock)
        assert {pod.metadata.name for pod in await pods(world)} == {"stray"}  # the others went with their Jobs


async def test_one_who_divides_keys_in_another_way_is_told_so() -> None:
    async with a_world() as world:
        a = world.start("a", KNOWN)
        await world.until_shared(a)
        b = world.start("b", KNOWN, by="owner")
        await eventually(lambda: b.ended or None, world.clock)

        assert isinstance(b.error, ShardingConflict)
        assert "has --shard-by namespace, and this process owner: want the same" in str(b.error)
        assert not a.ended


async def test_the_controllers_that_cannot_divide_a_namespace_are_named() -> None:
    shared = {name_of(spec): spec for _, spec in specs().values() if spec.sharded_by}
    able = {name for name, spec in shared.items() if spec.sharded_by in ("owner", "name")}
    async with ApiServer() as server, connect(url=server.url, token=server.token) as client:
        with pytest.raises(OptionError) as raised:
            Manager(client, controllers=list(shared), sharding=Sharding(by="owner"))
        found = re.search(r"^--shard-by owner: (.*) cannot divide a namespace, as each needs all", str(raised.value))
        assert found is not None
        named = set(found[1].split(", "))
        manager = Manager(client, controllers=list(able), sharding=Sharding(by="owner"))

    assert named.isdisjoint(able)
    assert len(named) > 15
    assert set(manager.controllers) | {"csrsigning", "nodeipam", "route"} >= able


def name_of(spec: ControllerSpec) -> str:
    return (spec.aliases or (spec.name,))[0]
