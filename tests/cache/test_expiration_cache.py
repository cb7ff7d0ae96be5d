from __future__ import annotations

import threading
from typing import Any

from kinformer.cache import ExpirationCache, TimestampedEntry, TTLPolicy
from kinformer.clock import FakeClock
from tests.cache.objects import POD, Pod, pod


class Everything:
    """A policy by which everything has expired but what was named."""

    def __init__(self, *never: str) -> None:
        self.never = never

    def is_expired(self, entry: TimestampedEntry[Any]) -> bool:
        return entry.key not in self.never


def test_an_object_that_has_expired_is_gone_and_removed_by_the_read() -> None:
    cache: ExpirationCache[Pod] = ExpirationCache(Everything(), POD)
    cache.add(pod("foo"))
    assert cache.list_keys() == ["foo"]

    assert cache.get(pod("foo")) is None
    assert cache.list_keys() == []


def test_what_expired_can_be_added_again_and_its_time_starts_again() -> None:
    clock = FakeClock()
    cache: ExpirationCache[Pod] = ExpirationCache(10, POD, clock=clock)
    cache.add(pod("foo", 1))
    clock.turn(11)
    assert cache.get_by_key("foo") is None

    cache.add(pod("foo", 2))
    clock.turn(9)
    assert cache.get_by_key("foo") == pod("foo", 2)
    cache.update(pod("foo", 3))
    clock.turn(9)
    assert cache.get_by_key("foo") == pod("foo", 3)


def test_a_list_has_what_has_not_expired_and_removes_the_rest() -> None:
    cache: ExpirationCache[Pod] = ExpirationCache(Everything("b", "d"), POD)
    cache.replace([pod(name) for name in "abcd"], "1")

    assert cache.list() == [pod("b"), pod("d")]
    assert cache.list_keys() == ["b", "d"]


def test_objects_of_a_list_expire_together() -> None:
    clock = FakeClock()
    cache: ExpirationCache[Pod] = ExpirationCache(10, POD, clock=clock)
    cache.replace([pod("a"), pod("b")])
    clock.turn(10)
    cache.add(pod("c"))
    assert len(cache.list()) == 3
    clock.turn(0.5)
    assert cache.list() == [pod("c")]


def test_the_age_policy_expires_older_objects_and_nothing_without_an_age() -> None:
    clock = FakeClock()
    entry = TimestampedEntry("foo", pod("foo"), clock.monotonic())

    clock.turn(60)
    assert not TTLPolicy(60, clock).is_expired(entry)
    clock.turn(0.001)
    assert TTLPolicy(60, clock).is_expired(entry)
    assert not TTLPolicy(0, clock).is_expired(entry)
    assert not TTLPolicy(-1, clock).is_expired(entry)


def test_threads_may_read_and_write_at_once() -> None:
    cache: ExpirationCache[Pod] = ExpirationCache(Everything("a-0"), POD)
    errors: list[BaseException] = []

    def work(prefix: str) -> None:
        try:
            for number in range(300):
                cache.add(pod(f"{prefix}-{number}"))
                cache.get_by_key(f"{prefix}-{number}")
                cache.list()
        except BaseException as exc:
            errors.append(exc)

    threads = [threading.Thread(target=work, args=(prefix,)) for prefix in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert errors == []
    assert cache.list_keys() == ["a-0"]
