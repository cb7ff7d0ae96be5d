from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from kinformer.client import Client, Conflict
from kinformer.controllerutil.applying import equal
from kinformer.models import V1ConfigMap, V1ObjectMeta
from kinformer.operator import Outcome, changed_fields, create_or_update
from tests.operator.web_apps import WebApp, web_app


def config() -> V1ConfigMap:
    return V1ConfigMap(metadata=V1ObjectMeta(name="c", namespace="default"))


def say(**data: str) -> Callable[[V1ConfigMap], None]:
    def mutate(found: V1ConfigMap) -> None:
        found.data = {**(found.data or {}), **data}

    return mutate


async def test_what_is_not_there_is_created(client: Client) -> None:
    given = config()

    written = await create_or_update(client, given, say(a="1"))

    assert (written.outcome, written.object.data, written.changed) == (Outcome.CREATED, {"a": "1"}, True)
    assert given.data is None


async def test_what_is_there_is_updated_and_it_is_said_what_has_changed(client: Client) -> None:
    await create_or_update(client, config(), say(a="1"))

    written = await create_or_update(client, config(), say(b="2"))

    assert written.outcome is Outcome.UPDATED
    assert written.object.data == {"a": "1", "b": "2"}
    assert written.fields == ("data.b",)


async def test_what_is_as_it_should_be_is_not_written(client: Client) -> None:
    first = await create_or_update(client, config(), say(a="1"))

    written = await create_or_update(client, config(), say(a="1"))

    assert (written.outcome, written.changed, written.fields) == (Outcome.UNCHANGED, False, ())
    assert written.object.metadata.resource_version == first.object.metadata.resource_version


async def test_custom_resources_and_dicts_are_written_the_same_way(client: Client) -> None:
    def grow(app: WebApp) -> None:
        app.spec.replicas += 1

    assert (await create_or_update(client, web_app(), grow)).object.spec.replicas == 2
    assert (await create_or_update(client, web_app(), grow)).fields == ("spec.replicas",)
    named = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "d", "namespace": "default"}}
    written = await create_or_update(client, named, lambda found: found.update(data={"a": "1"}))
    assert written.object["data"] == {"a": "1"}


async def test_a_change_by_somebody_else_in_between_is_a_conflict(client: Client) -> None:
    await create_or_update(client, config(), say(a="1"))
    maps = client.resource(V1ConfigMap)
    stale = await maps.get("c", "default")
    await maps.patch("c", {"data": {"a": "2"}}, "default")

    def mutate(found: V1ConfigMap) -> None:
        found.metadata.resource_version = stale.metadata.resource_version
        found.data = {"a": "3"}

    with pytest.raises(Conflict):
        await create_or_update(client, config(), mutate)


async def test_an_object_cannot_be_renamed_by_the_way(client: Client) -> None:
    def rename(found: V1ConfigMap) -> None:
        found.metadata.name = "other"

    with pytest.raises(ValueError, match="default/c was renamed default/other"):
        await create_or_update(client, config(), rename)


def test_differing_fields_are_named_by_path_without_the_servers() -> None:
    before = {"metadata": {"resourceVersion": "1", "labels": {"a": "1", "b": "2"}}, "spec": {"x": [1]}, "status": {}}
    after = {
        "metadata": {"resourceVersion": "2", "labels": {"a": "2", "b": "2"}},
        "spec": {"x": [1, 2]},
        "status": {"y": 1},
    }

    assert changed_fields(before, after) == ("metadata.labels.a", "spec.x")
    assert changed_fields(before, before) == ()


class Limits(msgspec.Struct):
    """A part of a custom resource of which the schema says nothing."""

    values: dict[str, Any]


def test_true_in_place_of_one_is_a_change() -> None:
    assert changed_fields({"spec": {"x": [{"y": 1}]}}, {"spec": {"x": [{"y": True}]}}) == ("spec.x",)
    assert not equal(Limits({"on": 0}), Limits({"on": False}))
    assert equal(Limits({"on": [False, 1]}), Limits({"on": [False, 1]}))
