"""The controllers with a manager, against the embedded server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from kinformer.client import Client, NotFound, connect
from kinformer.clock import FakeClock
from kinformer.envtest import ApiServer
from kinformer.manager import Manager, OptionError
from kinformer.models import V1Endpoints, V1EndpointSlice, V1Node, V1Pod, V1Service, from_dict
from kinformer_controllers.endpoint.controller import EndpointController
from kinformer_controllers.endpointslice.controller import EndpointSliceController
from tests.turning import eventually, turn

KNOWN = {"endpoint": EndpointController, "endpointslice": EndpointSliceController}


@asynccontextmanager
async def cluster() -> AsyncIterator[Client]:
    clock = FakeClock()
    async with ApiServer(clock=clock) as server, connect(url=server.url, token=server.token, clock=clock) as client:
        await client.resource(V1Node).create(from_dict(V1Node, {"metadata": {"name": "n1"}}))
        yield client


@asynccontextmanager
async def managed(client: Client, **options: Any) -> AsyncIterator[Manager]:
    manager = Manager(client, known=KNOWN, options=options, clock=client.clock)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(manager.run)
        yield manager
        tasks.cancel_scope.cancel()


async def make_service(client: Client, name: str = "web", **spec: Any) -> V1Service:
    spec = {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": 8080}]} | spec
    service = from_dict(V1Service, {"metadata": {"name": name, "namespace": "default"}, "spec": spec})
    return await client.resource(V1Service).create(service)


async def make_pod(client: Client, name: str, ip: str) -> None:
    pods = client.resource(V1Pod)
    meta = {"name": name, "namespace": "default", "labels": {"app": "web"}}
    spec = {"nodeName": "n1", "containers": [{"name": "c", "image": "img"}]}
    await pods.create(from_dict(V1Pod, {"metadata": meta, "spec": spec}))
    await set_ready(client, name, ip, ready=True)


async def set_ready(client: Client, name: str, ip: str, *, ready: bool) -> None:
    condition = {"type": "Ready", "status": str(ready), "lastTransitionTime": "2026-01-01T00:00:00Z"}
    status = {"phase": "Running", "podIP": ip, "podIPs": [{"ip": ip}], "conditions": [condition]}
    await client.resource(V1Pod).patch(name, {"status": status}, "default", subresource="status")


async def endpoints(client: Client, name: str = "web") -> list[str] | None:
    """The ready addresses, None if there are no Endpoints."""
    try:
        found = await client.resource(V1Endpoints).get(name, "default")
    except NotFound:
        return None
    return [address.ip for subset in found.subsets or () for address in subset.addresses or ()]


async def slices(client: Client) -> list[str]:
    listed = await client.resource(V1EndpointSlice).list("default")
    return sorted(
        ip
        for each in listed.items
        for endpoint in each.endpoints or ()
        if endpoint.conditions.ready
        for ip in endpoint.addresses
    )


async def becomes(client: Client, look: Callable[[], Awaitable[Any]], want: Any) -> None:
    async def is_so() -> bool:
        return bool(await look() == want)

    await eventually(is_so, client.clock)


async def test_both_follow_pods_and_service_and_restore_deleted_objects() -> None:
    async with cluster() as client, managed(client):
        await make_pod(client, "a", "10.1.0.1")
        await make_service(client)
        await make_pod(client, "b", "10.1.0.2")
        await becomes(client, lambda: endpoints(client), ["10.1.0.1", "10.1.0.2"])
        await becomes(client, lambda: slices(client), ["10.1.0.1", "10.1.0.2"])

        await set_ready(client, "a", "10.1.0.1", ready=False)
        await becomes(client, lambda: endpoints(client), ["10.1.0.2"])
        await becomes(client, lambda: slices(client), ["10.1.0.2"])

        await client.resource(V1Endpoints).delete("web", "default")
        await client.resource(V1EndpointSlice).delete_collection("default")
        await becomes(client, lambda: endpoints(client), ["10.1.0.2"])
        await becomes(client, lambda: slices(client), ["10.1.0.2"])

        await client.resource(V1Service).delete("web", "default")
        await becomes(client, lambda: endpoints(client), None)
        await becomes(client, lambda: slices(client), [])


async def test_changes_of_many_pods_within_the_batch_period_are_few_writes() -> None:
    periods = {"endpoint_updates_batch_period": 0.3, "endpointslice_updates_batch_period": 0.3}
    async with cluster() as client, managed(client, max_endpoints_per_slice=10, **periods):
        await make_service(client)
        ips = [f"10.1.0.{number}" for number in range(1, 31)]
        await becomes(client, lambda: endpoints(client), [])
        for number, ip in enumerate(ips):
            await make_pod(client, f"p{number:02}", ip)
            await turn(client.clock, 0.02)
        await becomes(client, lambda: endpoints(client), sorted(ips))
        await becomes(client, lambda: slices(client), sorted(ips))

        listed = (await client.resource(V1EndpointSlice).list("default")).items
        assert [len(each.endpoints) for each in listed] == [10, 10, 10]
        # A slice's generation is how often it was written.
        assert sum(each.metadata.generation for each in listed) <= 8


async def test_services_that_select_the_same_pods_have_the_same_endpoints() -> None:
    async with cluster() as client, managed(client):
        names = [f"s{number}" for number in range(10)]
        for name in names:
            await make_service(client, name)
        await make_pod(client, "a", "10.1.0.1")
        for name in names:
            await becomes(client, lambda name=name: endpoints(client, name), ["10.1.0.1"])
        await becomes(client, lambda: slices(client), ["10.1.0.1"] * 10)


@pytest.mark.parametrize("option", ["concurrent_endpoint_syncs", "max_endpoints_per_slice"])
async def test_an_option_of_another_type_is_refused(option: str) -> None:
    async with connect(url="http://127.0.0.1:1") as client:
        with pytest.raises(OptionError, match=option):
            Manager(client, known=KNOWN, options={option: "many"})
