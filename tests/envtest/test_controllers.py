"""The server runs the controllers that an operator depends on, by their names."""

from __future__ import annotations

from typing import Any

import pytest

from kinformer.client import Client, NotFound, connect
from kinformer.clock import FakeClock
from kinformer.envtest import ApiServer, ServerError, eventually, running, turn
from kinformer.envtest.loops import LOOPS
from kinformer.envtest.nodes import FakeNodes
from kinformer.manager import OptionError
from kinformer.models import V1Deployment, V1Job, V1Namespace, V1Pod, V1ReplicaSet, from_dict


def deployment(replicas: int = 2) -> V1Deployment:
    labels = {"app": "web"}
    return from_dict(
        V1Deployment,
        {
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {
                "replicas": replicas,
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
            },
        },
    )


async def becomes_ready(client: Client, clock: FakeClock | None = None) -> V1Deployment:
    async def is_ready() -> V1Deployment:
        found = await client.resource(V1Deployment).get("web", "default")
        assert found.status is not None
        assert found.status.ready_replicas == 2
        return found

    return await eventually(is_ready, seconds=60, clock=clock)


@pytest.mark.kinformer_controllers("deployment", "replicaset")
async def test_a_mark_has_a_tests_server_run_controllers(
    kinformer_client: Client, kinformer_fake_nodes: FakeNodes
) -> None:
    await kinformer_client.resource(V1Deployment).create(deployment())
    await becomes_ready(kinformer_client)
    assert len((await kinformer_client.resource(V1Pod).list("default")).items) == 2


async def test_they_go_by_the_servers_clock() -> None:
    clock = FakeClock()
    async with (
        ApiServer(clock=clock, seed=1, controllers=["job", "ttl-after-finished"]) as server,
        connect(url=server.url, token=server.token, clock=clock) as client,
        running(FakeNodes(client, 1, clock=clock)),
    ):
        annotations = {"fake-nodes.kinformer.dev/run-seconds": "30"}
        containers = [{"name": "c", "image": "i"}]
        template = {
            "metadata": {"annotations": annotations},
            "spec": {"containers": containers, "restartPolicy": "Never"},
        }
        spec = {"ttlSecondsAfterFinished": 3600, "template": template}
        jobs = client.resource(V1Job)
        await jobs.create(from_dict(V1Job, {"metadata": {"name": "once", "namespace": "default"}, "spec": spec}))

        async def is_over() -> None:
            job = await jobs.get("once", "default")
            assert job.status is not None
            assert job.status.succeeded == 1

        await eventually(is_over, clock=clock, seconds=60)
        await turn(clock, 3500)
        await is_over()
        await turn(clock, 200)
        with pytest.raises(NotFound):
            await jobs.get("once", "default")


async def test_controllers_can_run_for_part_of_a_test_with_own_options() -> None:
    async with ApiServer() as server, connect(url=server.url, token=server.token) as client:
        await client.resource(V1Deployment).create(deployment())
        async with server.run_controllers("deployment", concurrent_deployment_syncs=1) as manager:

            async def has_one() -> bool:
                return len((await client.resource(V1ReplicaSet).list("default")).items) == 1

            await eventually(has_one)
            assert list(manager.controllers) == ["deployment"]
            assert (await client.resource(V1Pod).list("default")).items == []


async def test_a_controller_takes_the_place_of_the_servers_own_loop() -> None:
    async with (
        ApiServer(controllers=["namespace-controller", "garbage-collector-controller"]) as server,
        connect(url=server.url, token=server.token) as client,
    ):
        # Named so, they are the server's own.
        await client.resource(V1Namespace).create({"metadata": {"name": "a"}})
        await client.resource(V1Namespace).delete("a")
        await eventually(lambda: is_gone(client, "a"))
        with pytest.raises(ServerError, match="itself does the work of the controller 'namespace'"):
            async with server.run_controllers("namespace"):
                pass

    async with (
        ApiServer(controllers=["namespace"]) as server,
        connect(url=server.url, token=server.token) as client,
    ):
        await client.resource(V1Namespace).create({"metadata": {"name": "a"}})
        await client.resource(V1Namespace).delete("a")
        await eventually(lambda: is_gone(client, "a"))


async def is_gone(client: Client, name: str) -> bool:
    try:
        await client.resource(V1Namespace).get(name)
    except NotFound:
        return True
    return False


@pytest.mark.parametrize(
    ("names", "complaint"),
    [
        (["deploymant"], r"there is no controller 'deploymant': the server's own are .*; installed are .*deployment"),
        ("deployment", "controllers is 'deployment': want a list of names"),
    ],
)
def test_a_name_that_nobody_has_is_refused_with_those_that_there_are(names: Any, complaint: str) -> None:
    with pytest.raises(ServerError, match=complaint):
        ApiServer(controllers=names)


async def test_the_same_holds_while_the_server_runs() -> None:
    async with ApiServer() as server:
        with pytest.raises(ServerError, match="there is no controller 'deploymant'"):
            async with server.run_controllers("deploymant"):
                pass
        with pytest.raises(OptionError, match="no controller knows the option 'colour'"):
            async with server.run_controllers("deployment", colour="red"):
                pass


def test_the_names_of_kube_controller_manager_mean_the_same_controllers() -> None:
    from kinformer.envtest.controllers import chosen

    assert chosen(["deployment-controller", "deployment"]) == (LOOPS, ("deployment",))
    assert chosen(["garbagecollector"]) == (LOOPS[1:], ("garbagecollector",))
    assert chosen(["kubelet", "deployment"]) == (("kubelet",), ("deployment",))
    assert chosen(()) == ((), ())


async def test_a_server_that_is_restarted_runs_them_again() -> None:
    async with (
        ApiServer(controllers=["deployment"]) as server,
        connect(url=server.url, token=server.token) as client,
    ):
        await server.restart()
        await client.resource(V1Deployment).create(deployment())

        async def has_one() -> bool:
            return len((await client.resource(V1ReplicaSet).list("default")).items) == 1

        await eventually(has_one)
