"""InformerCaches: what a member's informers hold, and what they decode."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from kinformer.cache import ListerWatcher, ListWatch
from kinformer.cache.division import LEFT
from kinformer.cache.listwatch import beside
from kinformer.client.codec import ObjectCodec
from kinformer.client.heads import Wanted, keep_wanted
from kinformer.client.types import ListOptions, ObjectList, WatchEvent
from kinformer.meta import accessor_of
from kinformer.models import V1ObjectMeta, V1OwnerReference, V1Pod
from kinformer.sharding import InformerCaches, RangeGate, Ranges
from kinformer.sharding.narrowing import RangesListWatch

RANGES = Ranges(64)


def wanted_by(caches: InformerCaches) -> Any:
    resource: Any = None
    narrowed = caches.narrowed(ListWatch(resource), V1Pod, namespaced=True)
    assert isinstance(narrowed, RangesListWatch)
    assert isinstance(narrowed.inner, ListWatch)
    return narrowed.inner.wanted


def event(namespace: str, uid: str, more: str = "", kind: str = "ADDED") -> bytes:
    meta = f'"name":"x","namespace":"{namespace}","uid":"{uid}","resourceVersion":"7"'
    return f'{{"type":"{kind}","object":{{"metadata":{{{meta}{more}}}}}}}\n'.encode()


def caches_of(*numbers: int, by_uid: tuple[type[Any], ...] = (), ranges: Ranges = RANGES) -> InformerCaches:
    caches = InformerCaches(ranges, by_uid)
    caches.gate = RangeGate(ranges, lambda: True)
    caches.hold(frozenset(numbers))
    return caches


def uids_decoded(lines: bytes, wanted: Wanted) -> list[str]:
    kept: list[Any] = []
    keep_wanted(lines, 0, len(lines), wanted, kept)
    events, _ = ObjectCodec(V1Pod, "v1", "Pod").decode_events(kept)
    return [one.object.metadata.uid for one in events]


def test_a_watch_decodes_the_events_of_held_ranges_alone() -> None:
    caches = caches_of(RANGES.of("ours"))
    lines = event("ours", "1") + event("another", "2") + event("ours", "3")
    assert uids_decoded(lines, wanted_by(caches)) == ["1", "3"]


def test_ranges_that_come_later_are_decoded_from_then_on() -> None:
    caches = caches_of()
    wanted = wanted_by(caches)
    before = uids_decoded(event("ours", "1"), wanted)
    caches.hold(frozenset({RANGES.of("ours")}))
    assert (before, uids_decoded(event("ours", "1"), wanted)) == ([], ["1"])


def test_ranges_that_go_are_decoded_no_more() -> None:
    caches = caches_of(RANGES.of("ours"))
    wanted = wanted_by(caches)
    before = uids_decoded(event("ours", "1"), wanted)
    caches.hold(frozenset())
    assert (before, uids_decoded(event("ours", "1"), wanted)) == (["1"], [])


def test_a_kind_that_is_divided_by_uid_is_decoded_by_its_uid() -> None:
    wanted = wanted_by(caches_of(RANGES.of("1"), by_uid=(V1Pod,)))
    accepts = wanted.accepts
    assert (accepts("any", "1", ""), accepts("any", "2", "")) == (True, RANGES.of("1") == RANGES.of("2"))


# --- by owner

BY_OWNER = Ranges(64, by_owner=True)
ANNOTATIONS = r'"k\"}{[]":"{\"ownerReferences\":[{\"controller\":true,\"uid\":\"theirs\"}]}"'
METADATA = (
    ',"generation":1,"creationTimestamp":"2026-01-01T00:00:00Z","labels":{"app":"web","b":""},'
    f'"annotations":{{{ANNOTATIONS}}}'
)


def owned(*owners: str, controls: str = "true") -> str:
    references = ",".join(
        f'{{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web","uid":"{owner}",'
        f'"controller":{controls if number == len(owners) - 1 else "false"},"blockOwnerDeletion":true}}'
        for number, owner in enumerate(owners)
    )
    return f'{METADATA},"ownerReferences":[{references}],"finalizers":["a"]'


def decoded(*lines: bytes, holding: str = "ours") -> list[str]:
    wanted = wanted_by(caches_of(BY_OWNER.of(holding), ranges=BY_OWNER))
    return uids_decoded(b"".join(lines), wanted)


@pytest.mark.parametrize(
    ("more", "is_decoded"),
    [
        (owned("ours"), True),
        (owned("theirs"), False),
        (owned("theirs", "ours"), True),
        (owned("ours", "theirs"), False),
        (METADATA + ',"finalizers":["a"]', True),
        ("", True),
        (owned("theirs", controls="false"), True),
        (',"ownerReferences":null', True),
    ],
)
def test_events_of_pods_are_decoded_by_their_controller(more: str, is_decoded: bool) -> None:
    assert decoded(event("any", "1", more)) == (["1"] if is_decoded else [])


def test_who_gets_another_owner_in_one_piece_is_decoded_and_dropped() -> None:
    lines = (event("any", "1", owned("ours")), event("any", "1", owned("theirs"), "MODIFIED"))
    assert decoded(*lines, event("any", "2", owned("theirs"))) == ["1", "1"]


def test_types_that_own_others_are_decoded_by_their_own_uid() -> None:
    caches = caches_of(BY_OWNER.of("1"), ranges=BY_OWNER)
    caches.owners = frozenset({V1Pod})
    wanted = wanted_by(caches)
    assert (wanted.accepts("any", "1", "x"), wanted.accepts("any", "x", "1")) == (True, False)


class Script(ListerWatcher[V1Pod]):
    """Batches of events, after an empty list."""

    supports_watch_list = True

    def __init__(self, *batches: Sequence[WatchEvent[V1Pod]]) -> None:
        self.batches = batches

    async def list(self, options: ListOptions) -> ObjectList[V1Pod]:
        return ObjectList([], "1")

    @asynccontextmanager
    async def watch(self, options: ListOptions) -> AsyncIterator[AsyncIterator[Sequence[WatchEvent[V1Pod]]]]:
        async def batches() -> AsyncIterator[Sequence[WatchEvent[V1Pod]]]:
            for batch in self.batches:
                yield batch

        yield batches()


def pod_event(type_: Any, uid: str, owner: str = "", version: str = "7") -> WatchEvent[V1Pod]:
    reference = V1OwnerReference(api_version="apps/v1", kind="ReplicaSet", name="web", uid=owner, controller=True)
    references = [reference] if owner else None
    meta = V1ObjectMeta(name=uid, namespace="any", uid=uid, resource_version=version, owner_references=references)
    return WatchEvent(type_, V1Pod(metadata=meta))


async def watched(*events: WatchEvent[V1Pod], in_list: bool = False) -> list[tuple[str, str]]:
    caches = caches_of(BY_OWNER.of("ours"), ranges=BY_OWNER)
    part = caches.narrowed(Script(events), V1Pod, namespaced=True)
    if not in_list:
        await part.list(ListOptions())
    async with part.watch(ListOptions(send_initial_events=in_list or None)) as batches:
        async for batch in batches:
            return [(event.type, accessor_of(event.object).name(event.object)) for event in batch]
    return []


async def test_an_object_leaves_with_its_owner_if_it_was_there() -> None:
    events = await watched(
        pod_event("ADDED", "moves", "ours"),
        pod_event("ADDED", "adopted"),
        pod_event("ADDED", "never", "theirs"),
        pod_event("MODIFIED", "moves", "theirs"),
        pod_event("MODIFIED", "adopted", "theirs"),
        pod_event("MODIFIED", "moves", "theirs"),
        pod_event("DELETED", "never", "theirs"),
    )
    assert events == [("ADDED", "moves"), ("ADDED", "adopted"), (LEFT, "moves"), (LEFT, "adopted"), ("BOOKMARK", "")]


async def test_an_object_that_is_gone_with_another_owner_is_deleted() -> None:
    events = await watched(
        pod_event("ADDED", "moves", "ours"),
        pod_event("DELETED", "moves", "theirs"),
        pod_event("DELETED", "unseen", "ours"),
    )
    assert events == [("ADDED", "moves"), ("DELETED", "moves"), ("DELETED", "unseen")]


async def test_an_object_leaves_although_others_were_listed_meanwhile() -> None:
    caches = caches_of(BY_OWNER.of("ours"), ranges=BY_OWNER)
    part = caches.narrowed(
        Script([pod_event("ADDED", "moves", "ours")], [pod_event("MODIFIED", "moves", "theirs")]),
        V1Pod,
        namespaced=True,
    )
    await part.list(ListOptions())
    async with part.watch(ListOptions()) as batches:
        await anext(batches)
        await beside(part).list(ListOptions(limit=1))
        assert [event.type for event in await anext(batches)] == [LEFT]


async def test_an_object_that_moves_during_a_streaming_list_is_taken_out() -> None:
    events = await watched(pod_event("ADDED", "moves", "ours"), pod_event("MODIFIED", "moves", "theirs"), in_list=True)
    assert events == [("ADDED", "moves"), ("DELETED", "moves")]
