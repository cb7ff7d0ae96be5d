from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from kinformer.client import Client, Conflict
from kinformer.informers import SharedInformerFactory
from kinformer.meta import is_controlled_by
from kinformer.models import V1ConfigMap, V1ObjectMeta
from kinformer.operator import AlreadyOwned, Applier, Outcome
from tests.controllerutil.counted import Counted
from tests.operator.web_apps import WebApp, web_app


def config(name: str = "c", **data: str) -> V1ConfigMap:
    return V1ConfigMap(metadata=V1ObjectMeta(name=name, namespace="default"), data=data or None)


@asynccontextmanager
async def watched(client: Client) -> AsyncIterator[tuple[Applier, Counted, Any]]:
    """An applier with a cache of the config maps, what it sends, and the cache."""
    counted: list[Counted] = []

    def wrap(transport: Any) -> Any:
        counted.append(Counted(transport))
        return counted[0]

    async with SharedInformerFactory(client) as informers:
        maps = informers.informer_for(V1ConfigMap)
        informers.start()
        await informers.wait_for_cache_sync()
        yield Applier(client.through(wrap), "shop-operator", informers), counted[0], maps


async def shown(maps: Any, version: str | None, name: str = "c") -> None:
    """Wait until the cache has a version."""
    key = f"default/{name}"
    with anyio.fail_after(60):
        while (found := maps.indexer.get_by_key(key)) is None or found.metadata.resource_version != version:
            await anyio.lowlevel.checkpoint()


async def test_what_is_not_there_is_created(client: Client) -> None:
    written = await Applier(client, "shop-operator").apply(config(a="1"))

    assert (written.outcome, written.object.data) == (Outcome.CREATED, {"a": "1"})


async def test_fields_no_longer_applied_are_removed_and_those_of_others_stay(
    client: Client,
) -> None:
    applier = Applier(client, "shop-operator")
    await applier.apply(config(a="1", b="2"))
    await client.resource(V1ConfigMap).patch("c", {"data": {"z": "26"}}, "default")

    written = await applier.apply(config(a="1"))

    assert (written.outcome, written.fields) == (Outcome.UPDATED, ("data.b",))
    assert written.object.data == {"a": "1", "z": "26"}


async def test_anothers_field_is_taken_over_unless_that_is_switched_off(client: Client) -> None:
    await Applier(client, "other").apply(config(a="1"))
    applier = Applier(client, "shop-operator")

    with pytest.raises(Conflict):
        await applier.apply(config(a="2"), force=False)
    assert (await applier.apply(config(a="2"))).fields == ("data.a",)


async def test_nothing_is_sent_while_the_cache_shows_what_was_applied(client: Client) -> None:
    async with watched(client) as (applier, counted, maps):
        for name in ("c", "d"):
            written = await applier.apply(config(name, a="1"))
            await shown(maps, written.object.metadata.resource_version, name)
        counted.sent.clear()

        again = await applier.apply(config(a="1"))
        assert (again.outcome, counted.sent) == (Outcome.UNCHANGED, [])

        applier.forget(config())
        await applier.apply(config("d", a="1"))
        assert counted.sent == []
        await applier.apply(config(a="1"))
        assert counted.sent == ["PATCH"]


async def test_what_somebody_else_changed_is_put_right_again(client: Client) -> None:
    async with watched(client) as (applier, counted, maps):
        await applier.apply(config(a="1"))
        changed = await client.resource(V1ConfigMap).patch("c", {"data": {"a": "9"}}, "default")
        await shown(maps, changed.metadata.resource_version)
        counted.sent.clear()

        again = await applier.apply(config(a="1"))

        assert (again.outcome, again.fields, again.object.data) == (Outcome.UPDATED, ("data.a",), {"a": "1"})
        assert counted.sent == ["PATCH"]


async def test_something_else_is_applied_though_the_cache_is_behind(client: Client) -> None:
    async with watched(client) as (applier, _, _):
        await applier.apply(config(a="1"))

        assert (await applier.apply(config(a="2"))).object.data == {"a": "2"}


async def test_an_owned_object_has_its_owner_and_is_in_its_namespace(client: Client) -> None:
    app = await client.resource(WebApp).create(web_app())
    wanted = V1ConfigMap(metadata=V1ObjectMeta(name="c"), data={"a": "1"})

    async with watched(client) as (applier, counted, _):
        written = await applier.ensure_owned(app, wanted)
        assert counted.sent == ["GET", "PATCH"]

    assert is_controlled_by(written.object, app.metadata.uid or "")
    assert written.object.metadata.namespace == "default"
    assert wanted.metadata.owner_references is None


async def test_an_object_of_another_controller_is_left_to_it(client: Client) -> None:
    apps = client.resource(WebApp)
    one, two = await apps.create(web_app("one")), await apps.create(web_app("two"))
    applier = Applier(client, "shop-operator")
    await applier.ensure_owned(one, config(a="1"))

    with pytest.raises(AlreadyOwned, match="configmaps default/c is controlled by WebApp one"):
        await applier.ensure_owned(two, config(a="2"))
    assert (await client.resource(V1ConfigMap).get("c", "default")).data == {"a": "1"}


async def test_a_field_manager_without_a_name_is_an_error(client: Client) -> None:
    with pytest.raises(ValueError, match="the field manager has no name"):
        Applier(client, "")
