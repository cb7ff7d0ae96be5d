"""What the operator does, against an API server in this process."""

from __future__ import annotations

from kinformer.client import Client
from kinformer.envtest import eventually
from kinformer.manager import Manager
from kinformer.models import CoreV1Event, V1Deployment, V1ObjectMeta
from kinformer.operator import is_condition_true

from sample_operator.api import (
    Sample,
    SampleSpec,
    SampleStatus,
)


def new_object(replicas: int = 2) -> Sample:
    return Sample(
        metadata=V1ObjectMeta(name="shop", namespace="default"),
        spec=SampleSpec(image="shop:1", replicas=replicas),
    )


async def until_deployed(client: Client, replicas: int) -> V1Deployment:
    async def is_deployed() -> V1Deployment:
        deployment = await client.resource(V1Deployment).get("shop", "default")
        assert deployment.spec is not None
        assert deployment.spec.replicas == replicas
        return deployment

    return await eventually(is_deployed)


async def make_ready(client: Client, replicas: int) -> None:
    """What a cluster does: the pods come up."""
    status = {"replicas": replicas, "readyReplicas": replicas}
    await client.resource(V1Deployment).patch("shop", {"status": status}, "default", subresource="status")


async def until_status(client: Client, ready: int, is_ready: bool) -> SampleStatus:
    async def is_told() -> SampleStatus:
        status = (await client.resource(Sample).get("shop", "default")).status
        assert status is not None
        assert status.ready_replicas == ready
        assert is_condition_true(status.conditions, "Ready") is is_ready
        return status

    return await eventually(is_told)


async def test_an_object_gets_its_deployment_and_its_status(client: Client, manager: Manager) -> None:
    made = await client.resource(Sample).create(new_object())

    deployment = await until_deployed(client, 2)
    assert [owner.uid for owner in deployment.metadata.owner_references or ()] == [made.metadata.uid]
    await until_status(client, 0, False)
    await make_ready(client, 2)
    await until_status(client, 2, True)


async def test_a_change_of_the_spec_reaches_the_deployment(client: Client, manager: Manager) -> None:
    await client.resource(Sample).create(new_object())
    await until_deployed(client, 2)

    await client.resource(Sample).patch("shop", {"spec": {"replicas": 5}}, "default")

    await until_deployed(client, 5)


async def test_a_deployment_that_somebody_deletes_comes_back(client: Client, manager: Manager) -> None:
    await client.resource(Sample).create(new_object())
    first = await until_deployed(client, 2)

    await client.resource(V1Deployment).delete("shop", "default")

    async def is_another() -> bool:
        return (await client.resource(V1Deployment).get("shop", "default")).metadata.uid != first.metadata.uid

    await eventually(is_another)


async def test_what_was_done_is_told_in_an_event(client: Client, manager: Manager) -> None:
    await client.resource(Sample).create(new_object())

    async def is_told() -> None:
        events = (await client.resource(CoreV1Event).list("default")).items
        assert [(event.reason, event.message) for event in events] == [
            ("DeploymentApplied", "the Deployment was created")
        ]

    await eventually(is_told)
