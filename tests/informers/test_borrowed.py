"""Borrowed informers: one watch of a kind for all who need it, as long as somebody does."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from kinformer.cache import NAMESPACE_INDEX
from kinformer.client import Client, connect
from kinformer.deletion.heads import Head, compact, shows_heads
from kinformer.envtest import ApiServer
from kinformer.informers import Borrowed, SharedInformerFactory
from kinformer.meta import GroupVersionResource
from kinformer.models import V1ConfigMap

CONFIG_MAPS = GroupVersionResource("", "v1", "configmaps")


class NameOnly(msgspec.Struct):
    name: str = ""
    namespace: str | None = None


class Named(msgspec.Struct):
    metadata: NameOnly


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with ApiServer() as server, connect(url=server.url, token=server.token) as client:
        yield client


def borrow(informers: SharedInformerFactory, **more: Any) -> Borrowed:
    return informers.borrow(Head, CONFIG_MAPS, will_do=shows_heads, transform=compact, **more)


async def test_borrowers_of_a_kind_share_one_informer_until_the_last_returns_it(client: Client) -> None:
    async with SharedInformerFactory(client) as informers:
        one, other = borrow(informers), borrow(informers)
        assert one.informer is other.informer
        await one.informer.wait_synced()

        one.give_back()
        one.give_back()
        assert other.informer.is_following
        other.give_back()
        await other.informer.wait_stopped()

        again = borrow(informers)
        await again.informer.wait_synced()
        assert again.informer is not one.informer


async def test_a_borrowed_metadata_informer_begins_with_a_streaming_list(client: Client) -> None:
    await client.resource(V1ConfigMap).create(V1ConfigMap(metadata={"name": "c", "namespace": "default"}))
    async with SharedInformerFactory(client) as informers:
        informer = borrow(informers).informer
        await informer.wait_synced()

        head = informer.indexer.get_by_key("default/c")
        assert isinstance(head, Head)
        assert head.metadata.uid


async def test_whole_objects_that_somebody_has_anyhow_do(client: Client) -> None:
    async with SharedInformerFactory(client) as informers:
        whole = informers.informer_for(V1ConfigMap)
        borrowed = borrow(informers)
        assert borrowed.informer is whole

        borrowed.give_back()
        await whole.wait_synced()
        assert whole.is_following


async def test_objects_that_lack_what_is_needed_or_are_not_all_do_not(client: Client) -> None:
    async with SharedInformerFactory(client) as informers:
        informers.informer_for(Named, V1ConfigMap)
        assert borrow(informers).informer.type is Head
    async with SharedInformerFactory(client, label_selector="app=web") as informers:
        informers.informer_for(V1ConfigMap)
        assert borrow(informers).informer.type is Head


async def test_who_needs_an_index_gets_it_also_from_an_informer_that_runs(client: Client) -> None:
    async with SharedInformerFactory(client) as informers:
        informer = borrow(informers).informer
        await informer.wait_synced()
        assert not informer.indexer.get_indexers()

        borrow(informers, indexers=lambda type_: {NAMESPACE_INDEX: lambda obj: obj.metadata.namespace})
        assert set(informer.indexer.get_indexers()) == {NAMESPACE_INDEX}


async def test_a_factory_that_does_not_run_lends_nothing(client: Client) -> None:
    with pytest.raises(RuntimeError, match="does not run"):
        borrow(SharedInformerFactory(client))


async def test_a_factory_that_is_shut_down_ends_what_it_has_lent(client: Client) -> None:
    async with SharedInformerFactory(client) as informers:
        borrowed = borrow(informers)
        await borrowed.informer.wait_synced()
        await informers.shutdown()
        assert borrowed.informer.is_stopped
