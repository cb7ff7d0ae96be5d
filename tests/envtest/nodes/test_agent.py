"""The fake nodes against the embedded server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import anyio
import anyio.lowlevel
import pytest
import structlog

from kinformer.client import Client, PatchType, connect
from kinformer.envtest import ApiServer
from kinformer.envtest.nodes import EXIT_CODE, RUN_SECONDS, FakeNodes
from kinformer.meta import GroupResource
from kinformer.models import V1Lease, V1Node, V1Pod, from_dict


def pod(name: str, annotations: dict[str, str] | None = None, **spec: Any) -> V1Pod:
    return from_dict(
        V1Pod,
        {
            "metadata": {"name": name, "namespace": "default", "annotations": annotations or {}},
            "spec": {"containers": [{"name": "c", "image": "i"}], **spec},
        },
    )


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with ApiServer() as server, connect(url=server.url, token=server.token) as client:
        yield client


async def until(client: Client, name: str, holds: Callable[[V1Pod | None], bool]) -> V1Pod | None:
    """The pod, or None when it is gone, as soon as `holds` says so of it."""
    with anyio.fail_after(60):
        async with client.resource(V1Pod).watch("default") as batches:
            async for batch in batches:
                for event in batch:
                    if event.object.metadata.name == name:
                        seen = None if event.type == "DELETED" else event.object
                        if holds(seen):
                            return seen
    raise AssertionError("the watch ended")


async def test_nodes_are_registered_with_their_leases(client: Client) -> None:
    async with anyio.create_task_group() as tasks:
        agent = FakeNodes(client, 2)
        tasks.start_soon(agent.run)
        await agent.wait_registered()
        nodes = (await client.resource(V1Node).list()).items
        leases = (await client.resource(V1Lease).list("kube-node-lease")).items
        tasks.cancel_scope.cancel()

    assert [node.metadata.name for node in nodes] == ["node-0", "node-1"]
    assert nodes[0].status.conditions[0].type == "Ready"
    assert [lease.spec.holder_identity for lease in leases] == ["node-0", "node-1"]
    # Without it, the attach-detach controller leaves a node's volumes to its kubelet.
    assert nodes[0].metadata.annotations == {"volumes.kubernetes.io/controller-managed-attach-detach": "true"}


async def test_a_registered_node_has_only_the_taints_that_somebody_gave_it(client: Client) -> None:
    taints = [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]
    await client.resource(V1Node).create({"metadata": {"name": "node-0"}, "spec": {"taints": taints}})
    async with anyio.create_task_group() as tasks:
        agent = FakeNodes(client, 2)
        tasks.start_soon(agent.run)
        await agent.wait_registered()
        tasks.cancel_scope.cancel()

    nodes = (await client.resource(V1Node).list()).items
    assert [[taint.key for taint in node.spec.taints or []] for node in nodes] == [["gpu"], []]


async def test_a_pod_is_put_on_the_node_that_its_affinity_names(client: Client) -> None:
    field = {"key": "metadata.name", "operator": "In", "values": ["node-2"]}
    terms = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(FakeNodes(client).run)
        await client.resource(V1Pod).create(pod("daemon", affinity=affinity))
        seen = await until(client, "daemon", lambda it: it is not None and it.status.phase == "Running")
        tasks.cancel_scope.cancel()

    assert seen is not None
    assert seen.spec.node_name == "node-2"


async def test_a_pod_waits_while_all_nodes_are_cordoned_and_says_why(client: Client) -> None:
    nodes = client.resource(V1Node)
    async with anyio.create_task_group() as tasks:
        agent = FakeNodes(client, 1)
        await client.resource(V1Node).create({"metadata": {"name": "node-0"}, "spec": {"unschedulable": True}})
        tasks.start_soon(agent.run)
        await client.resource(V1Pod).create(pod("web"))
        seen = await until(client, "web", lambda it: it is not None and bool(it.status.conditions))
        assert seen is not None
        assert seen.spec.node_name is None
        told = seen.status.conditions[0]
        assert (told.type, told.status, told.reason) == ("PodScheduled", "False", "Unschedulable")
        assert told.message == "0/1 nodes are available: 1 node(s) were unschedulable."

        await nodes.patch("node-0", {"spec": {"unschedulable": None}}, patch_type=PatchType.MERGE)
        seen = await until(client, "web", lambda it: it is not None and it.status.phase == "Running")
        tasks.cancel_scope.cancel()

    assert seen is not None
    assert seen.spec.node_name == "node-0"


async def test_an_agent_takes_over_the_nodes_of_the_one_before_it(client: Client) -> None:
    for _ in range(2):
        async with anyio.create_task_group() as tasks:
            agent = FakeNodes(client, 1)
            tasks.start_soon(agent.run)
            await agent.wait_registered()
            tasks.cancel_scope.cancel()

    assert len((await client.resource(V1Node).list()).items) == 1


async def test_a_node_tells_what_machine_it_is_as_its_labels_do(client: Client) -> None:
    labels = {"kubernetes.io/os": "windows", "kubernetes.io/arch": "arm64"}
    await client.resource(V1Node).create(from_dict(V1Node, {"metadata": {"name": "node-0", "labels": labels}}))
    async with anyio.create_task_group() as tasks:
        agent = FakeNodes(client, 2)
        tasks.start_soon(agent.run)
        await agent.wait_registered()
        tasks.cancel_scope.cancel()

    infos = [node.status.node_info for node in (await client.resource(V1Node).list()).items]
    assert [(info.operating_system, info.architecture) for info in infos] == [("windows", "arm64"), ("linux", "amd64")]
    assert all(info.kubelet_version.startswith("v1.36") for info in infos)


async def test_a_pod_is_bound_run_made_ready_and_deleted_for_good(client: Client) -> None:
    pods = client.resource(V1Pod)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(FakeNodes(client, 1).run)
        await pods.create(pod("a"))
        running = await until(client, "a", lambda seen: seen is not None and seen.status.phase == "Running")
        await pods.delete("a", "default")
        assert await until(client, "a", lambda seen: seen is None) is None
        tasks.cancel_scope.cancel()

    assert running is not None
    assert (running.spec.node_name, running.status.pod_ip) == ("node-0", "10.1.0.2")


async def test_a_pod_that_terminates_is_not_ready(client: Client) -> None:
    def is_ready(seen: V1Pod | None) -> bool:
        conditions = (seen.status.conditions or []) if seen is not None else []
        return {each.type: each.status for each in conditions}.get("Ready") == "True"

    pods = client.resource(V1Pod)
    held = pod("a")
    held.metadata.finalizers = ["example.com/held"]  # so that it can be looked at
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(FakeNodes(client, 1).run)
        await pods.create(held)
        await until(client, "a", is_ready)
        await pods.delete("a", "default")
        seen = await until(client, "a", lambda seen: not is_ready(seen))
        tasks.cancel_scope.cancel()

    assert seen is not None
    assert [each.ready for each in seen.status.container_statuses or []] == [False]


async def test_an_evicted_pod_that_is_held_has_ended_and_says_why(client: Client) -> None:
    pods = client.resource(V1Pod)
    held = pod("a")
    held.metadata.finalizers = ["example.com/held"]
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(FakeNodes(client, 1).run)
        await pods.create(held)
        await until(client, "a", lambda seen: seen is not None and seen.status.phase == "Running")
        why = {"conditions": [{"type": "DisruptionTarget", "status": "True"}], "containerStatuses": None}
        await pods.patch("a", {"status": why}, "default", subresource="status")
        told = await until(client, "a", lambda seen: bool(seen is not None and seen.status.container_statuses))
        await pods.delete("a", "default")
        ended = await until(client, "a", lambda seen: seen is not None and seen.status.phase == "Failed")
        tasks.cancel_scope.cancel()

    assert told is not None
    assert ended is not None
    assert [each.type for seen in (told, ended) for each in seen.status.conditions].count("DisruptionTarget") == 2
    [container] = ended.status.container_statuses
    assert (container.state.running, container.state.terminated.exit_code) == (None, 137)


async def test_pods_have_addresses_of_their_own(client: Client) -> None:
    pods = client.resource(V1Pod)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(FakeNodes(client).run)
        for name in "abc":
            await pods.create(pod(name))
            await until(client, name, lambda seen: seen is not None and bool(seen.status.pod_ip))
        addresses = {one.status.pod_ip for one in (await pods.list("default")).items}
        tasks.cancel_scope.cancel()

    assert len(addresses) == 3


async def test_a_pod_in_the_network_of_its_node_has_its_address(client: Client) -> None:
    pods = client.resource(V1Pod)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(FakeNodes(client, 1).run)
        await pods.create(pod("proxy", hostNetwork=True))
        proxy = await until(client, "proxy", lambda seen: seen is not None and bool(seen.status.pod_ip))
        await pods.delete("proxy", "default")
        await until(client, "proxy", lambda seen: seen is None)
        await pods.create(pod("web"))
        web = await until(client, "web", lambda seen: seen is not None and bool(seen.status.pod_ip))
        tasks.cancel_scope.cancel()

    assert proxy is not None
    assert web is not None
    assert proxy.status.pod_ip == proxy.status.host_ip == web.status.host_ip == "192.168.0.2"
    assert [each.ip for each in proxy.status.pod_ips] == ["192.168.0.2"]
    assert web.status.pod_ip == "10.1.0.2"


async def test_a_pod_ends_as_its_annotations_say(client: Client) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(FakeNodes(client).run)
        await client.resource(V1Pod).create(pod("job", {RUN_SECONDS: "0", EXIT_CODE: "2"}, restartPolicy="Never"))
        ended = await until(client, "job", lambda seen: seen is not None and seen.status.phase == "Failed")
        tasks.cancel_scope.cancel()

    assert ended is not None
    assert ended.status.container_statuses[0].state.terminated.exit_code == 2


async def test_a_senseless_annotation_is_one_error_that_names_the_pod(client: Client) -> None:
    with structlog.testing.capture_logs() as logs:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(FakeNodes(client).run)
            await client.resource(V1Pod).create(pod("odd", {RUN_SECONDS: "soon"}))
            await until(client, "odd", lambda it: it is not None and it.spec.node_name is not None)
            await client.resource(V1Pod).create(pod("fine"))
            await until(client, "fine", lambda it: it is not None and it.status.phase == "Running")
            tasks.cancel_scope.cancel()

    [told] = [one for one in logs if one["log_level"] == "error"]
    assert (told["event"], told["pod"]) == ("pod_script_not_understood", "default/odd")
    assert RUN_SECONDS in told["error"]


async def test_pods_of_other_schedulers_and_other_nodes_are_left_alone(client: Client) -> None:
    pods = client.resource(V1Pod)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(FakeNodes(client).run)
        await pods.create(pod("theirs", schedulerName="theirs"))
        await pods.create(pod("elsewhere", nodeName="elsewhere"))
        await pods.create(pod("ours"))
        await until(client, "ours", lambda seen: seen is not None and seen.status.phase == "Running")
        theirs, elsewhere = await pods.get("theirs", "default"), await pods.get("elsewhere", "default")
        tasks.cancel_scope.cancel()

    assert theirs.spec.node_name is None
    assert elsewhere.status.phase == "Pending"


async def test_a_node_with_kwoks_annotation_runs_pods_until_it_is_deleted(client: Client) -> None:
    nodes, pods = client.resource(V1Node), client.resource(V1Pod)
    annotated = {"name": "small", "annotations": {"kwok.x-k8s.io/node": "fake"}}
    await pods.create(pod("early", nodeName="small"))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(FakeNodes(client, 0).run)
        await pods.create(pod("waits"))
        await until(client, "waits", lambda it: it is not None and it.status.conditions is not None)
        await nodes.create(from_dict(V1Node, {"metadata": annotated, "status": {"capacity": {"cpu": "2"}}}))
        early = await until(client, "early", lambda it: it is not None and it.status.phase == "Running")
        waits = await until(client, "waits", lambda it: it is not None and it.status.phase == "Running")
        small = await nodes.get("small")
        await nodes.delete("small")
        await pods.create(pod("late"))
        late = await until(client, "late", lambda it: it is not None and it.status.conditions is not None)
        tasks.cancel_scope.cancel()

    assert early is not None
    assert waits is not None
    assert waits.spec.node_name == "small"
    assert early.status.host_ip == small.status.addresses[0].address
    assert small.status.capacity == {"cpu": "2"}
    assert late is not None
    assert late.spec.node_name is None


async def test_a_node_that_is_made_again_at_once_becomes_ready_again() -> None:
    annotated = {"name": "small", "annotations": {"kwok.x-k8s.io/node": "fake"}}
    async with ApiServer() as server, connect(url=server.url, token=server.token) as client:
        nodes, stored = client.resource(V1Node), GroupResource("", "nodes")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(FakeNodes(client, 0).run)
            await nodes.create(from_dict(V1Node, {"metadata": annotated}))
            await client.resource(V1Pod).create(pod("first"))
            await until(client, "first", lambda it: it is not None and it.status.phase == "Running")
            before = server.storage.log(stored).objects["small"]
            # Both in one turn of the loop, so that no sync comes in between.
            server.storage.delete(stored, before)
            again = {"metadata": {**annotated, "uid": "again"}, "spec": {}, "status": {}}
            server.storage.create(stored, "", "small", again)
            with anyio.fail_after(60):
                while (await nodes.get("small")).status.conditions is None:  # the fake node's task
                    await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()


async def test_leases_are_renewed_while_nodes_come(client: Client) -> None:
    nodes = client.resource(V1Node)
    async with anyio.create_task_group() as tasks:
        agent = FakeNodes(client, 20)
        tasks.start_soon(agent.run)
        await agent.wait_registered()
        await nodes.create(
            from_dict(V1Node, {"metadata": {"name": "small", "annotations": {"kwok.x-k8s.io/node": "fake"}}})
        )
        while "small" not in agent.nodes:
            await agent.renew_leases()
        tasks.cancel_scope.cancel()
