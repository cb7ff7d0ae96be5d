"""Promises of the frame, whatever goes wrong: one leader writes, a quota is never exceeded, informers end up right.

That informers hold what the server has, that handlers see possible histories, that no key is synced twice at once and
that nobody writes without the lease is looked at in every simulated run; here are the worlds that put it to the test.
"""

from __future__ import annotations

from typing import Any

from kinformer.envtest.loops import WITHOUT_KUBELET
from kinformer.simulation import World, WorldOptions, simulate
from kinformer.simulation.oracles import State

OPTIONS = WorldOptions(loops=tuple(WITHOUT_KUBELET))


def web(replicas: int) -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": replicas, "selector": {"app": "a"}, "template": template}
    return {"apiVersion": "v1", "kind": "ReplicationController", "metadata": {"name": "web"}, "spec": spec}


def pods_of(state: State) -> int:
    return sum(name.startswith("pods/default/") for name in state.objects())


@simulate(seeds=6, options=OPTIONS)
async def test_one_of_several_managers_leads_and_the_work_is_done(world: World) -> None:
    for name in ("one", "two"):
        world.manager("replicationcontroller", name, leader_election=True)
    await world.apply(web(3))
    await world.settled()
    await world.apply(web(1))
    await world.settled()
    assert pods_of(world.state) == 1


@simulate(seeds=6, options=OPTIONS)
async def test_a_quota_is_at_no_time_exceeded(world: World) -> None:
    world.assert_always(lambda state: pods_of(state) <= 2)
    world.manager(("replicationcontroller", "resourcequota"))
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": {"pods": "2"}}}
    await world.apply(quota)
    await world.settled()
    await world.apply(web(4))
    await world.sleep(60)
    await world.apply(web(1))
    await world.settled()
    assert pods_of(world.state) == 1
