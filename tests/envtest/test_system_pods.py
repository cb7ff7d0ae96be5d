"""A server with the system pods of a kubeadm cluster."""

from __future__ import annotations

from kinformer.client import connect
from kinformer.clock import FakeClock
from kinformer.envtest import ApiServer, eventually, turn
from kinformer.models import V1Deployment, V1Node, V1Pod, V1ReplicaSet, V1Service


async def test_the_pods_of_a_control_plane_are_ready_and_stay() -> None:
    clock = FakeClock()
    async with (
        ApiServer(clock=clock, system_pods=True) as server,
        connect(url=server.url, token=server.token, clock=clock) as client,
    ):
        pods = client.resource(V1Pod)

        async def are_ready() -> bool:
            found = (await pods.list("kube-system")).items
            return [one.status.phase for one in found] == ["Running"] * 7

        await eventually(are_ready, clock=clock)
        await turn(clock, 300)
        assert await are_ready()

        scheduler = (await pods.list("kube-system", label_selector="component=kube-scheduler")).items[0]
        assert scheduler.metadata.labels == {"component": "kube-scheduler", "tier": "control-plane"}
        assert scheduler.spec.node_name == "control-plane-0"
        (owner,) = scheduler.metadata.owner_references or []
        node = await client.resource(V1Node).get("control-plane-0")
        assert (owner.kind, owner.uid) == ("Node", node.metadata.uid)
        assert (await client.resource(V1Service).get("kubernetes", "default")).spec.ports[0].port == 443


async def test_the_controllers_leave_the_system_pods_as_they_are() -> None:
    clock = FakeClock()
    async with (
        ApiServer(clock=clock, system_pods=True, controllers=["deployment", "replicaset"]) as server,
        connect(url=server.url, token=server.token, clock=clock) as client,
    ):
        before = {one.metadata.uid for one in (await client.resource(V1Pod).list("kube-system")).items}
        await turn(clock, 60)

        after = {one.metadata.uid for one in (await client.resource(V1Pod).list("kube-system")).items}
        deployment = await client.resource(V1Deployment).get("coredns", "kube-system")
        sets = (await client.resource(V1ReplicaSet).list("kube-system")).items
    assert after == before
    assert (deployment.status.ready_replicas, len(sets)) == (2, 1)
