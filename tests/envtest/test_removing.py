from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import anyio
import pytest

from kinformer.client import DeleteOptions, ListOptions, connect
from kinformer.clock import FakeClock
from kinformer.envtest import ApiServer, running
from kinformer.envtest.nodes import FakeNodes
from kinformer.envtest.operations import timestamp
from kinformer.models import V1Pod, from_dict
from tests.envtest.conftest import Http

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
MANIFEST: dict[str, Any] = {
    "metadata": {"name": "p", "namespace": "default"},
    "spec": {"containers": [{"name": "c", "image": "i"}]},
}


async def test_pods_removed_at_once_are_first_seen_terminating() -> None:
    async with ApiServer() as server, connect(url=server.url, token=server.token) as client:
        pods = client.resource(V1Pod)
        names = ["a", "b", "c"]
        for name in names:
            pod = from_dict(V1Pod, MANIFEST)
            pod.metadata.name = name
            await pods.create(pod)
        listed = await pods.list("default")
        options = ListOptions(resource_version=listed.resource_version)
        batches: list[list[str]] = []
        with anyio.fail_after(60):
            async with pods.watch("default", options) as events, anyio.create_task_group() as tasks:
                for name in names:
                    tasks.start_soon(pods.delete, name, "default", DeleteOptions(grace_period_seconds=0))
                async for batch in events:
                    batches.append([f"{event.type} {event.object.metadata.name}" for event in batch])
                    if sum(map(len, batches)) == 6:
                        break

        assert {event for batch in batches for event in batch} == {
            f"{what} {name}" for what in ("MODIFIED", "DELETED") for name in names
        }
        for batch in batches:
            assert len({event.split()[1] for event in batch}) == len(batch)


async def test_a_delete_that_is_tried_by_its_body_removes_nothing(http: Http) -> None:
    await http.create(CONFIG_MAPS, {"metadata": {"name": "a"}})
    body = {"kind": "DeleteOptions", "apiVersion": "v1", "dryRun": ["All"]}
    assert (await http("DELETE", f"{CONFIG_MAPS}/a", body))[0] == 200
    assert (await http("DELETE", CONFIG_MAPS, body))[0] == 200
    await http.get(f"{CONFIG_MAPS}/a")


async def test_a_terminating_name_is_taken_and_the_refusal_says_why(http: Http) -> None:
    body = {"metadata": {"name": "a", "finalizers": ["example.com/wait"]}}
    await http.create(CONFIG_MAPS, body)
    taken = 'configmaps "a" already exists'
    assert (await http("POST", CONFIG_MAPS, body))[1]["message"] == taken
    await http("DELETE", f"{CONFIG_MAPS}/a")
    assert (await http("POST", CONFIG_MAPS, body))[1]["message"] == f"object is being deleted: {taken}"


async def test_where_there_is_a_body_the_query_does_not_count(http: Http) -> None:
    await http.create(CONFIG_MAPS, {"metadata": {"name": "a"}})
    path = f"{CONFIG_MAPS}/a?propagationPolicy=Foreground&dryRun=All"
    code, done = await http("DELETE", path, {"kind": "DeleteOptions", "apiVersion": "v1"})
    assert (code, done["status"]) == (200, "Success")
    assert (await http("GET", f"{CONFIG_MAPS}/a"))[0] == 404


async def test_a_deprecated_option_of_deletion_is_still_accepted(http: Http) -> None:
    await http.create(CONFIG_MAPS, {"metadata": {"name": "a", "finalizers": ["a.com/f"]}})
    assert (await http("DELETE", f"{CONFIG_MAPS}/a?orphanDependents=false"))[0] == 202
    assert (await http("DELETE", f"{CONFIG_MAPS}/a"))[0] == 200


async def test_forced_deletion_on_a_fake_node_succeeds_despite_the_race() -> None:
    async with (
        ApiServer() as server,
        connect(url=server.url, token=server.token) as client,
        running(nodes := FakeNodes(client, 1)),
    ):
        pods = client.resource(V1Pod)
        await nodes.wait_registered()
        await pods.create(from_dict(V1Pod, {**MANIFEST, "spec": {**MANIFEST["spec"], "nodeName": "node-0"}}))
        path = "/api/v1/namespaces/default/pods/p"
        deleted = await client.request("DELETE", path, body={"gracePeriodSeconds": 0}, type_=V1Pod)
        assert deleted.metadata.deletion_grace_period_seconds == 0


@pytest.mark.parametrize(("grace", "ends_in"), [(2**31, 2**31), (2**63 - 1, -1)])
async def test_a_grace_period_beyond_292_years_wraps_around_as_in_go(
    http: Http, clock: FakeClock, grace: int, ends_in: int
) -> None:
    spec = {"nodeName": "n", "terminationGracePeriodSeconds": grace, "containers": [{"name": "c", "image": "i"}]}
    await http.create(PODS, {"metadata": {"name": "p"}, "spec": spec})
    code, deleted = await http("DELETE", f"{PODS}/p")
    assert (code, deleted["metadata"]["deletionGracePeriodSeconds"]) == (200, grace)
    ends = datetime.fromisoformat(deleted["metadata"]["deletionTimestamp"])
    assert ends == clock.now().replace(microsecond=0) + timedelta(seconds=ends_in)
    code, sooner = await http("DELETE", f"{PODS}/p?gracePeriodSeconds=2")
    assert (code, sooner["metadata"]["deletionTimestamp"]) == (200, timestamp(clock.now() + timedelta(seconds=2)))
