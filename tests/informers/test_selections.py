"""Selections by type, second views of a resource, and informers that are stopped alone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any
from unittest.mock import Mock

import anyio
import pytest

from kinformer.cache import ResourceEventHandlerFuncs
from kinformer.client import Client, connect
from kinformer.envtest import ApiServer
from kinformer.informers import Selection, SharedInformerFactory
from kinformer.models import V1ConfigMap, V1ServiceAccount
from tests.informers.test_factory import CONFIG_MAPS, OnlyName, config_map


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with (
        ApiServer(plugins=False, seed=1) as server,
        connect(url=server.url, token=server.token) as client,
    ):
        maps = client.resource(V1ConfigMap)
        await maps.create(config_map("a", app="web"))
        await maps.create(config_map("b", app="db"))
        await maps.create(config_map("c", "kube-public", app="web"))
        yield client


def keys(informer: Any) -> list[str]:
    return sorted(informer.indexer.list_keys())


def without_data(obj: V1ConfigMap) -> V1ConfigMap:
    obj.data = None
    return obj


async def test_a_type_can_have_a_selection_of_its_own(client: Client) -> None:
    by_type = {V1ConfigMap: Selection(namespace="default", label_selector="app=web", transform=without_data)}
    async with SharedInformerFactory(client, by_type=by_type) as informers:
        maps, accounts = informers.informer_for(V1ConfigMap), informers.informer_for(V1ServiceAccount)
        informers.start()
        await informers.wait_for_cache_sync()

        assert keys(maps) == ["default/a"]
        assert maps.indexer.list()[0].data is None
        assert accounts.has_synced


async def test_what_the_factory_selects_and_what_the_type_selects_must_both_fit(client: Client) -> None:
    by_type = {V1ConfigMap: Selection(field_selector="metadata.name!=a")}
    async with SharedInformerFactory(client, label_selector="app=web", by_type=by_type) as informers:
        maps = informers.informer_for(V1ConfigMap)
        informers.start()
        await informers.wait_for_cache_sync()

        assert keys(maps) == ["kube-public/c"]


async def test_a_view_has_other_fields_and_a_copy_of_its_own(client: Client) -> None:
    async with SharedInformerFactory(client) as informers:
        whole = informers.informer_for(V1ConfigMap)
        names = informers.informer_for(
            OnlyName, CONFIG_MAPS, view="names", selection=Selection(label_selector="app=web")
        )
        informers.start()
        await informers.wait_for_cache_sync()

        assert {"default/a", "default/b", "kube-public/c"} <= set(keys(whole))
        assert keys(names) == ["default/a", "kube-public/c"]
        assert {type(obj) for obj in names.indexer.list()} == {OnlyName}
        assert names.name == "configmaps (names)"
        assert informers.informer_for(OnlyName, CONFIG_MAPS, view="names") is names
        assert list(informers.informers) == [CONFIG_MAPS]


async def test_a_view_of_handlers_that_are_held_is_held_too(client: Client) -> None:
    told: list[str] = []
    async with SharedInformerFactory(client) as informers:
        informers.hold_handlers()
        view = informers.informer_for(V1ConfigMap, view="second")
        view.add_event_handler(ResourceEventHandlerFuncs(add=lambda obj: told.append(obj.metadata.name or "")))
        informers.start()
        await informers.wait_for_cache_sync()
        assert told == []

        informers.release_handlers()
        with anyio.fail_after(60):
            while not {"a", "b", "c"} <= set(told):
                await anyio.lowlevel.checkpoint()


def test_a_selection_without_a_view_is_an_error() -> None:
    with pytest.raises(ValueError, match="a selection needs a view"):
        SharedInformerFactory(Mock(spec=Client)).informer_for(V1ConfigMap, selection=Selection(label_selector="a"))


def test_a_selector_that_cannot_be_parsed_is_an_error_at_once() -> None:
    with pytest.raises(ValueError, match="a in"):
        Selection(label_selector="a in")


async def test_one_informer_can_be_stopped_while_the_others_go_on(client: Client) -> None:
    told: list[str] = []
    async with SharedInformerFactory(client) as informers:
        maps, accounts = informers.informer_for(V1ConfigMap), informers.informer_for(V1ServiceAccount)
        maps.add_event_handler(ResourceEventHandlerFuncs(add=lambda obj: told.append(obj.metadata.name or "")))
        informers.start()
        await informers.wait_for_cache_sync()

        await informers.stop(maps)
        await client.resource(V1ConfigMap).create(config_map("late"))

        assert (maps.is_stopped, accounts.is_stopped) == (True, False)
        again = informers.informer_for(V1ConfigMap)
        informers.start()
        await again.wait_synced()
        assert "default/late" in keys(again)
        assert "default/late" not in keys(maps)
        assert "late" not in told


async def test_an_informer_of_somebody_else_is_not_stopped(client: Client) -> None:
    other = SharedInformerFactory(client).informer_for(V1ConfigMap)

    with pytest.raises(ValueError, match="informer configmaps is not of this factory"):
        await SharedInformerFactory(client).stop(other)
