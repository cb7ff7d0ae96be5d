"""InformerCaches: what a member's informers hold, and what they decode."""

from __future__ import annotations

from typing import Any

from kinformer.cache import ListWatch
from kinformer.client.codec import ObjectCodec
from kinformer.models import V1Pod
from kinformer.sharding import InformerCaches, RangeGate, Ranges
from kinformer.sharding.narrowing import RangesListWatch

RANGES = Ranges(64)


def wanted_by(caches: InformerCaches) -> Any:
    resource: Any = None
    narrowed = caches.narrowed(ListWatch(resource), V1Pod, namespaced=True)
    assert isinstance(narrowed, RangesListWatch)
    assert isinstance(narrowed.inner, ListWatch)
    return narrowed.inner.wanted


def event(namespace: str, uid: str) -> bytes:
    meta = f'"name":"x","namespace":"{namespace}","uid":"{uid}","resourceVersion":"7"'
    return f'{{"type":"ADDED","object":{{"metadata":{{{meta}}}}}}}\n'.encode()


def caches_of(*numbers: int, by_uid: tuple[type[Any], ...] = ()) -> InformerCaches:
    caches = InformerCaches(RANGES, by_uid)
    caches.gate = RangeGate(RANGES, lambda: True)
    caches.hold(frozenset(numbers))
    return caches


def test_a_watch_decodes_the_events_of_held_ranges_alone() -> None:
    caches = caches_of(RANGES.of("ours"))
    lines = event("ours", "1") + event("another", "2") + event("ours", "3")
    events, _ = ObjectCodec(V1Pod, "v1", "Pod").decode_events([lines], wanted=wanted_by(caches))
    assert [one.object.metadata.uid for one in events] == ["1", "3"]


def test_ranges_that_come_later_are_decoded_from_then_on() -> None:
    caches = caches_of()
    wanted = wanted_by(caches)
    before = wanted("ours", "1")
    caches.hold(frozenset({RANGES.of("ours")}))
    assert (before, wanted("ours", "1")) == (False, True)


def test_a_kind_that_is_divided_by_uid_is_decoded_by_its_uid() -> None:
    wanted = wanted_by(caches_of(RANGES.of("1"), by_uid=(V1Pod,)))
    assert (wanted("any", "1"), wanted("any", "2")) == (True, RANGES.of("1") == RANGES.of("2"))
