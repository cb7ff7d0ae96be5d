from __future__ import annotations

import anyio

from kinformer.client import DeleteOptions, ListOptions, connect
from kinformer.envtest import ApiServer
from kinformer.models import V1Pod, from_dict

MANIFEST = {"metadata": {"name": "p", "namespace": "default"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


async def test_pods_that_are_removed_at_once_are_seen_on_their_way_out_first() -> None:
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
        with anyio.fail_after(5):
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
