from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from configmap_copier import COPY_TO, make_controller

from kinformer.client import Client, NotFound
from kinformer.envtest import eventually, running
from kinformer.manager import Manager
from kinformer.models import CoreV1Event, V1ConfigMap, V1Namespace, V1ObjectMeta


@pytest.fixture
async def client(kinformer_client: Client) -> Client:
    for name in ("team-a", "team-b", "other"):
        await kinformer_client.resource(V1Namespace).create(V1Namespace(metadata=V1ObjectMeta(name=name)))
    return kinformer_client


@pytest.fixture
async def manager(client: Client, operator_client: Client) -> AsyncIterator[Manager]:
    async with running(Manager(operator_client, known={"configmap-copier": make_controller})) as manager:
        yield manager


def settings(to: str, **data: str) -> V1ConfigMap:
    metadata = V1ObjectMeta(name="settings", namespace="default", annotations={COPY_TO: to})
    return V1ConfigMap(metadata=metadata, data=data)


async def until_copies(client: Client, data: dict[str, str], *namespaces: str) -> None:
    async def copies_are_right() -> None:
        found = (await client.resource(V1ConfigMap).list()).items
        copies = {obj.metadata.namespace: obj.data for obj in found if obj.metadata.name == "settings"}
        copies.pop("default", None)
        assert copies == dict.fromkeys(namespaces, data)

    await eventually(copies_are_right)


async def test_a_configmap_is_copied_where_its_annotation_says(client: Client, manager: Manager) -> None:
    await client.resource(V1ConfigMap).create(settings("team-a, team-b", colour="red"))

    await until_copies(client, {"colour": "red"}, "team-a", "team-b")


async def test_copies_follow_the_original_and_go_with_it(client: Client, manager: Manager) -> None:
    maps = client.resource(V1ConfigMap)
    await maps.create(settings("team-a,team-b", colour="red", size="10"))
    await until_copies(client, {"colour": "red", "size": "10"}, "team-a", "team-b")

    await maps.apply(settings("team-b", colour="blue"), field_manager="me", force=True)
    await maps.patch("settings", {"data": {"size": None}}, "default")
    await until_copies(client, {"colour": "blue"}, "team-b")

    await maps.delete("settings", "default")
    await until_copies(client, {})


async def test_a_copy_that_somebody_changes_or_deletes_is_put_right(client: Client, manager: Manager) -> None:
    maps = client.resource(V1ConfigMap)
    await maps.create(settings("team-a,team-b", colour="red"))
    await until_copies(client, {"colour": "red"}, "team-a", "team-b")

    await maps.patch("settings", {"data": {"colour": "green"}}, "team-a")
    await maps.delete("settings", "team-b")

    await until_copies(client, {"colour": "red"}, "team-a", "team-b")


async def test_a_namespace_that_is_made_later_gets_its_copy(client: Client, manager: Manager) -> None:
    await client.resource(V1ConfigMap).create(settings("team-a,later", colour="red"))
    await until_copies(client, {"colour": "red"}, "team-a")

    await client.resource(V1Namespace).create(V1Namespace(metadata=V1ObjectMeta(name="later")))

    await until_copies(client, {"colour": "red"}, "team-a", "later")


async def test_copies_whose_original_went_while_nobody_looked_are_deleted(
    client: Client, operator_client: Client
) -> None:
    async with running(Manager(operator_client, known={"configmap-copier": make_controller})):
        await client.resource(V1ConfigMap).create(settings("team-a", colour="red"))
        await until_copies(client, {"colour": "red"}, "team-a")
    await client.resource(V1ConfigMap).delete("settings", "default")

    async with running(Manager(operator_client, known={"configmap-copier": make_controller})):
        await until_copies(client, {})


async def test_what_is_no_copy_is_left_alone(client: Client, manager: Manager) -> None:
    maps = client.resource(V1ConfigMap)
    await maps.create(V1ConfigMap(metadata=V1ObjectMeta(name="settings", namespace="team-a"), data={"mine": "yes"}))

    await maps.create(settings("team-a,team-b", colour="red"))

    async def is_told() -> None:
        events = (await client.resource(CoreV1Event).list("default")).items
        assert [(event.reason, event.message) for event in events] == [
            ("NotCopied", "team-a has a ConfigMap of that name, which is no copy")
        ]

    await eventually(is_told)
    assert (await maps.get("settings", "team-a")).data == {"mine": "yes"}
    await eventually(lambda: maps.get("settings", "team-b"))
    with pytest.raises(NotFound):
        await maps.get("settings", "other")
