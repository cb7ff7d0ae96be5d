"""The names, equality and order of ControllerRevisions, and those of an owner on a server."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from kinformer.client import Client, NotFound, connect
from kinformer.controllerutil.claiming import AdoptionError
from kinformer.envtest import ApiServer
from kinformer.informers import SharedInformerFactory
from kinformer.meta import Everything, GroupVersionKind, parse_selector
from kinformer.models import V1ControllerRevision, V1ObjectMeta, V1PodTemplateSpec, encode, from_dict
from kinformer_controllers.shared.history.hashing import canonical_json, fnv32, fnv32a, safe_encode
from kinformer_controllers.shared.history.revisions import (
    HASH_LABEL,
    RevisionHistory,
    equal_revisions,
    new_revision,
    next_revision,
    revision_hash,
    revision_name,
    sorted_revisions,
    template_patch,
    with_bytes,
)
from tests.controllers.objects import make_rs
from tests.golden.controllers import SCENARIOS

KIND = GroupVersionKind("apps", "v1", "ReplicaSet")


NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def revision(name: str, number: int, data: object = None, made: datetime = NOON) -> V1ControllerRevision:
    return V1ControllerRevision(metadata=V1ObjectMeta(name=name, creation_timestamp=made), revision=number, data=data)


@pytest.mark.parametrize(
    ("text", "fnv1", "fnv1a"),
    [(b"", 0x811C9DC5, 0x811C9DC5), (b"a", 0x050C5D7E, 0xE40C292C), (b"foobar", 0x31F0B262, 0xBF9CF968)],
)
def test_hashes_are_fnvs(text: bytes, fnv1: int, fnv1a: int) -> None:
    assert fnv32(text) == fnv32(text[:2], text[2:]) == fnv1
    assert fnv32a(text) == fnv32a(text[:2], text[2:]) == fnv1a


def test_numbers_are_written_in_letters_that_make_no_words() -> None:
    # The letter of a digit is the one at its code in ASCII, counted round and round.
    assert safe_encode(27) == "6c"
    assert set(safe_encode(98765)) <= set("bcdfghjklmnpqrstvwxz2456789")


def test_json_is_written_as_go_writes_it() -> None:
    text = "<&>\u2028\u2029é\x7f\b\f\n\x01😀"
    there = revision("a", 1, {"é": 1, "b": text, "a": [2**63 - 1, True, None]})

    # As Go 1.26 printed it.
    written = r'"b":"\u003c\u0026\u003e\u2028\u2029é' + "\x7f" + r'\b\f\n\u0001😀"'
    numbers = '"a":[9223372036854775807,true,null]'
    assert canonical_json(there.data).decode() == f'{{{numbers},{written},"é":1}}'
    assert encode(with_bytes(there, is_new=True)).count(canonical_json(there.data)) == 1
    # The keys of a revision that is there already are not moved: the server would refuse it.
    assert f'{{"é":1,{written},{numbers}}}' in encode(with_bytes(there)).decode()


def test_a_template_has_gos_empty_list_even_if_missing() -> None:
    spec = {"containers": [{"name": "c"}], "volumes": [{"name": "v", "projected": {}}, {"name": "w", "emptyDir": {}}]}

    volumes = template_patch(from_dict(V1PodTemplateSpec, {"spec": spec}))["spec"]["template"]["spec"]["volumes"]

    assert volumes == [{"name": "v", "projected": {"sources": None}}, {"name": "w", "emptyDir": {}}]


def test_the_hash_covers_data_and_collisions_in_no_order() -> None:
    one, other = revision_hash({"a": 1, "b": 2}), revision_hash({"b": 2, "a": 1})

    assert one == other
    assert (
        len({one, revision_hash({"a": 1}), revision_hash({"a": 1, "b": 2}, 0), revision_hash({"a": 1, "b": 2}, 1)}) == 4
    )


def test_a_new_revision_is_named_after_its_hash_and_owned() -> None:
    made = new_revision(make_rs(), KIND, {"app": "web"}, {"spec": 1}, 4, 0)

    hash_ = revision_hash({"spec": 1}, 0)
    assert (made.metadata.name, made.metadata.namespace, made.revision) == (f"web-{hash_}", "ns", 4)
    assert made.metadata.labels == {"app": "web", HASH_LABEL: hash_}
    (reference,) = made.metadata.owner_references
    assert (reference.kind, reference.name, reference.uid, reference.controller) == (
        "ReplicaSet",
        "web",
        "uid-web",
        True,
    )


def test_a_long_name_leaves_room_for_the_hash() -> None:
    assert revision_name("x" * 300, "hash") == f"{'x' * 223}-hash"


def test_equal_ones_have_the_same_data_whatever_their_name_and_number() -> None:
    revisions = [revision("a", 1, {"x": 1}), revision("b", 2, {"x": 2}), revision("c", 3, {"x": 1})]

    assert [each.metadata.name for each in equal_revisions(revisions, revision("d", 9, {"x": 1}))] == ["a", "c"]
    assert equal_revisions(revisions, revision("d", 9)) == []
    assert equal_revisions([], revision("d", 9)) == []


def test_they_are_sorted_by_number_then_age_then_name() -> None:
    older = datetime(2026, 1, 1, 11, tzinfo=UTC)
    revisions = [revision("c", 2), revision("b", 2), revision("d", 2, made=older), revision("a", 3), revision("e", 1)]

    assert [each.metadata.name for each in sorted_revisions(revisions)] == ["e", "d", "b", "c", "a"]
    assert next_revision(revisions) == 4
    assert next_revision([]) == 1


def test_a_revision_has_the_name_that_kubernetes_gives_it() -> None:
    scenario = json.loads((SCENARIOS / "sts_update.json").read_text())
    revisions = [revision for state in scenario["want"] for revision in state.get("ControllerRevision", ())]

    hashes = {revision_hash(revision["data"], 0): revision["metadata"]["labels"][HASH_LABEL] for revision in revisions}
    assert len(hashes) == 2
    assert all(mine == theirs for mine, theirs in hashes.items())


def test_a_revision_without_a_number_is_the_oldest() -> None:
    numbered = V1ControllerRevision(metadata=V1ObjectMeta(name="b"), revision=1)
    without = V1ControllerRevision(metadata=V1ObjectMeta(name="a"), revision=cast("Any", None))

    assert sorted_revisions([numbered, without]) == [without, numbered]
    assert next_revision([without]) == 1


def test_a_hash_of_ones_own_always_has_ten_letters() -> None:
    assert (safe_encode(1), safe_encode(1, 10)) == ("5", "4444444445")


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


async def test_an_existing_revision_is_returned_and_a_namesake_gets_another_name() -> None:
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


async def test_a_revision_is_released_and_a_missing_or_foreign_one_ignored() -> None:
    async with history() as it:
        made = await it.control.create(it.owner, it.revision({"a": 1}), 0)

        released = await it.control.release(it.owner, made)
        assert released is not None
        assert not released.metadata.owner_references
        await it.control.release(it.owner, released)
        await it.control.delete(released)
        assert await it.control.release(it.owner, made) is None
