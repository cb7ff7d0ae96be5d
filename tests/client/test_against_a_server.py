"""The client with a whole API server: what the parts promise, together."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest

from kinformer.client import (
    AlreadyExists,
    Client,
    Conflict,
    Expired,
    Invalid,
    ListOptions,
    MethodNotSupported,
    NoKindMatch,
    NotFound,
    PatchType,
    Status,
    Unauthorized,
    connect,
)
from kinformer.envtest import ApiServer
from kinformer.meta import GroupVersionKind
from kinformer.models import V1ConfigMap, V1Namespace, V1ObjectMeta, V1Pod, V1ReplicationController, from_dict


@pytest.fixture
async def api() -> AsyncIterator[ApiServer]:
    async with ApiServer() as server:
        yield server


@pytest.fixture
async def cluster(api: ApiServer) -> AsyncIterator[Client]:
    async with connect(url=api.url, token=api.token) as client:
        yield client


def config_map(name: str, **data: str) -> V1ConfigMap:
    return V1ConfigMap(metadata=V1ObjectMeta(name=name, namespace="default"), data=data)


def pod(name: str) -> V1Pod:
    return from_dict(
        V1Pod,
        {
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        },
    )


async def test_the_life_of_an_object(cluster: Client) -> None:
    config_maps = cluster.resource(V1ConfigMap)

    made = await config_maps.create(config_map("a", k="1"))
    with pytest.raises(AlreadyExists):
        await config_maps.create(config_map("a"))
    made.data = {"k": "2"}
    updated = await config_maps.update(made)
    with pytest.raises(Conflict):
        await config_maps.update(made)
    patched = await config_maps.patch("a", {"data": {"m": "3"}}, "default", patch_type=PatchType.MERGE)
    found = await config_maps.get("a", "default")
    gone = await config_maps.delete("a", "default")

    assert updated.data == {"k": "2"}
    assert patched.data == found.data == {"k": "2", "m": "3"}
    assert isinstance(gone, Status)
    with pytest.raises(NotFound):
        await config_maps.get("a", "default")
    with pytest.raises(Invalid, match="a lowercase RFC 1123 subdomain"):
        await config_maps.create(config_map("Not_A_Name"))


async def test_a_list_and_the_watch_after_it_miss_nothing(cluster: Client) -> None:
    config_maps = cluster.resource(V1ConfigMap)
    for number in range(5):
        await config_maps.create(config_map(f"c{number}"))
    pages = [page async for page in config_maps.pages("default", ListOptions(limit=2))]
    names = [item.metadata.name for page in pages for item in page.items]
    options = ListOptions(resource_version=pages[-1].resource_version, timeout_seconds=60)

    async with config_maps.watch("default", options) as events:
        await config_maps.create(config_map("c5"))
        await config_maps.delete("c0", "default")
        found: list[tuple[str, str]] = []
        with anyio.fail_after(60):
            async for batch in events:
                found += [(event.type, event.object.metadata.name) for event in batch]
                if len(found) >= 2:
                    break

    assert names == [f"c{number}" for number in range(5)]
    assert found == [("ADDED", "c5"), ("DELETED", "c0")]


async def test_history_that_is_gone_has_expired(api: ApiServer, cluster: Client) -> None:
    config_maps = cluster.resource(V1ConfigMap)
    first = await config_maps.create(config_map("a"))
    await config_maps.create(config_map("b"))
    await config_maps.create(config_map("c"))
    api.storage.compact()

    with pytest.raises(Expired):
        async with config_maps.watch(options=ListOptions(resource_version=first.metadata.resource_version)) as events:
            await anext(events)


async def test_status_scale_and_binding(cluster: Client) -> None:
    controllers = cluster.resource(V1ReplicationController)
    pods = cluster.resource(V1Pod)
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    made: Any = await controllers.create(
        {"metadata": {"name": "rc"}, "spec": {"selector": {"a": "b"}, "template": template}}, "default"
    )
    made.status.replicas = 3
    await controllers.update_status(made)
    scale = await controllers.get_scale("rc", "default")
    scale.spec.replicas = 7
    await controllers.update_scale("rc", scale, "default")
    await pods.create(pod("p"))
    await pods.bind("p", "node-1", "default")

    found: Any = await controllers.get("rc", "default")
    assert (found.status.replicas, found.spec.replicas) == (3, 7)
    assert (await pods.get("p", "default")).spec.node_name == "node-1"
    with pytest.raises(Conflict, match="already assigned"):
        await pods.bind("p", "node-2", "default")


async def test_manifests_find_their_verbs(cluster: Client) -> None:
    manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}

    made = await (await cluster.resource_for_object(manifest)).create(manifest)
    leases = await cluster.resource_for_kind(GroupVersionKind("coordination.k8s.io", "v1", "Lease"), dict)

    assert made["metadata"]["uid"]
    assert (await leases.list()).items == []
    with pytest.raises(NoKindMatch):
        await cluster.resource_for_object({"apiVersion": "example.com/v1", "kind": "Widget"})


async def test_what_cannot_be_done_says_so(cluster: Client) -> None:
    with pytest.raises(MethodNotSupported):
        await cluster.request("POST", "/api/v1/namespaces/default/configmaps/a", body={})
    with pytest.raises(NotFound):
        await cluster.request("GET", "/api/v1/nonsense")


async def test_a_wrong_token_is_refused(api: ApiServer) -> None:
    async with connect(url=api.url, token="wrong") as client:
        with pytest.raises(Unauthorized, match="refused the credentials"):
            await client.resource(V1Namespace).list()
