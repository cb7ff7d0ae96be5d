"""Revisions on the embedded server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from kinformer.client import Client, NotFound, connect
from kinformer.controllerutil.claiming import AdoptionError
from kinformer.envtest import ApiServer
from kinformer.informers import SharedInformerFactory
from kinformer.meta import Everything, GroupVersionKind, parse_selector
from kinformer.models import V1ControllerRevision
from kinformer_controllers.shared.history.control import RevisionHistory
from kinformer_controllers.shared.history.revisions import new_revision
from tests.controllers.objects import make_rs

KIND = GroupVersionKind("apps", "v1", "ReplicaSet")


class History:
    def __init__(self, client: Client) -> None:
        self.client = client
        self.informer = SharedInformerFactory(client).informer_for(V1ControllerRevision)
        self.control = RevisionHistory(client, KIND, self.informer)
        self.owner = make_rs()
        self.owner.metadata.namespace = "default"

    def revision(self, data: Any, number: int = 1, owner: Any = None) -> V1ControllerRevision:
        return new_revision(owner or self.owner, KIND, {"app": "web"}, data, number, 0)

    async def get(self, name: str) -> V1ControllerRevision:
        return await self.client.resource(V1ControllerRevision).get(name, "default")

    async def orphan(self, data: Any) -> V1ControllerRevision:
        made = self.revision(data)
        made.metadata.owner_references = None
        return await self.client.resource(V1ControllerRevision).create(made)


@asynccontextmanager
async def history() -> AsyncIterator[History]:
    async with ApiServer(controllers=False) as server, connect(url=server.url, token=server.token) as client:
        yield History(client)


async def test_an_owner_has_its_own_and_those_of_nobody_that_match() -> None:
    async with history() as it:
        other = make_rs(name="other")
        other.metadata.namespace = "default"
        mine, others = it.revision({"a": 1}), it.revision({"a": 2}, owner=other)
        orphan, stranger = it.revision({"a": 3}), it.revision({"a": 4})
        orphan.metadata.owner_references = None
        stranger.metadata.labels["app"] = "db"
        for each in (mine, others, orphan, stranger):
            it.informer.indexer.add(each)

        assert it.control.list(it.owner, parse_selector("app=web")) == [mine, orphan]
        assert it.control.list(it.owner, Everything) == [mine, stranger, orphan]


async def test_a_revision_that_is_there_already_is_given_back_and_another_of_its_name_gets_a_new_one() -> None:
    async with history() as it:
        counts: list[int] = []
        first = await it.control.create(it.owner, it.revision({"a": 1}), 0, counts.append)
        again = await it.control.create(it.owner, it.revision({"a": 1}, 2), 0, counts.append)
        assert (again.metadata.uid, again.revision, counts) == (first.metadata.uid, 1, [])

        await it.client.resource(V1ControllerRevision).delete(first.metadata.name, "default")
        squatter = it.revision({"a": "other"})
        squatter.metadata.name = first.metadata.name
        await it.client.resource(V1ControllerRevision).create(squatter)
        renamed = await it.control.create(it.owner, it.revision({"a": 1}), 0, counts.append)

        assert renamed.metadata.name != first.metadata.name
        assert counts == [1]


async def test_a_revision_is_renumbered_whoever_else_writes_it_meanwhile() -> None:
    async with history() as it:
        stale = await it.control.create(it.owner, it.revision({"a": 1}), 0)
        await it.control.patch("default", stale.metadata.name, {"metadata": {"labels": {"touched": "yes"}}})

        assert (await it.control.renumber(stale, 7)).revision == 7

        there = await it.get(stale.metadata.name)
        assert (there.revision, there.metadata.labels["touched"]) == (7, "yes")
        assert await it.control.renumber(there, 7) is there


async def test_a_revision_is_deleted_once() -> None:
    async with history() as it:
        made = await it.control.create(it.owner, it.revision({"a": 1}), 0)

        await it.control.delete(made)
        with pytest.raises(NotFound):
            await it.control.delete(made)


async def test_an_orphan_is_adopted_and_what_has_a_controller_is_not() -> None:
    async with history() as it:
        orphan = await it.orphan({"a": 1})

        adopted = await it.control.adopt(it.owner, orphan)

        (reference,) = adopted.metadata.owner_references
        assert (reference.uid, reference.controller) == ("uid-web", True)
        with pytest.raises(AdoptionError, match="is controlled by ReplicaSet web already"):
            await it.control.adopt(it.owner, adopted)


async def test_a_revision_is_released_and_what_is_gone_or_not_owned_is_no_error() -> None:
    async with history() as it:
        made = await it.control.create(it.owner, it.revision({"a": 1}), 0)

        released = await it.control.release(it.owner, made)
        assert released is not None
        assert not released.metadata.owner_references
        await it.control.release(it.owner, released)
        await it.control.delete(released)
        assert await it.control.release(it.owner, made) is None
