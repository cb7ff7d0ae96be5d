"""Turns: who of several busy replicas writes a quota next, told from whose reservations were added to it."""

from __future__ import annotations

from typing import Any

import pytest

from kinformer.clock import FakeClock
from kinformer_controllers.groupquota.turns import Turns

#: Seconds that a write takes in these tests, and the slot that Turns makes of it.
WRITE, SLOT = 0.01, 0.04
#: Seconds between two writes of a busy quota.
PACE = 0.025


class Replicas:
    """Some that write one quota, each with its own view of whose turn it is."""

    def __init__(self, *names: str) -> None:
        self.clock = FakeClock()
        self.turns = {name: Turns(name, self.clock) for name in names}
        self._numbers = 0

    def write(self, name: str) -> None:
        """One of them charges the quota, and all others see it."""
        self.clock.turn(WRITE)
        self._numbers += 1
        self.turns[name].wrote("g", WRITE)
        for other, turns in self.turns.items():
            if other != name:
                turns.saw("g", [f"{name}-{self._numbers:x}"])

    def pauses(self, **options: Any) -> dict[str, float]:
        return {name: pytest.approx(turns.pause("g", **options)) for name, turns in self.turns.items()}


def test_the_longest_silent_replica_is_next_and_others_wait_slots() -> None:
    it = Replicas("a", "b", "c")
    for name in ("b", "c", "a"):
        it.write(name)
    assert it.pauses() == {"b": PACE, "c": PACE + SLOT, "a": PACE + 2 * SLOT}
    it.write("b")
    assert it.pauses() == {"c": PACE, "a": PACE + SLOT, "b": PACE + 2 * SLOT}


def test_a_replica_that_nobody_has_seen_write_yet_is_first() -> None:
    it = Replicas("a", "b", "new")
    it.write("a")
    it.write("b")
    it.turns["new"] = Turns("new", it.clock)
    assert it.pauses()["new"] == 0


def test_a_slot_counts_from_the_last_write_so_idle_replicas_never_wait() -> None:
    it = Replicas("a", "b", "c")
    for name in it.turns:
        it.write(name)
    it.clock.turn(PACE + 2 * SLOT)
    assert it.pauses() == {"a": 0, "b": 0, "c": 0}


def test_each_replica_waits_twice_for_one_that_is_dead() -> None:
    it = Replicas("a", "dead", "c")
    for name in it.turns:
        it.write(name)
    assert it.pauses()["c"] == PACE + 2 * SLOT
    it.turns.pop("dead")
    waits = []
    for _ in range(4):
        for name in ("a", "c"):
            waits.append(it.turns[name].pause("g"))
            it.clock.turn(waits[-1])
            it.write(name)
    assert [wait - PACE for wait in waits] == pytest.approx([0, SLOT, SLOT, SLOT, SLOT, 0, 0, 0], abs=1e-9)


def test_a_request_with_little_time_waits_for_shorter_slots() -> None:
    it = Replicas("a", "b", "c")
    for name in it.turns:
        it.write(name)
    assert it.pauses(patience=0.5) == {"a": PACE, "b": PACE + SLOT, "c": PACE + 2 * SLOT}
    assert it.pauses(patience=0.25) == {"a": PACE / 2, "b": (PACE + SLOT) / 2, "c": PACE / 2 + SLOT}
    assert it.pauses(patience=0.0) == {"a": 0, "b": 0, "c": 0}


def test_a_lone_writer_leaves_room_for_unknown_others_at_times() -> None:
    it = Replicas("a")
    pauses = []
    for _ in range(200):
        pauses.append(it.turns["a"].pause("g"))
        it.clock.turn(pauses[-1])
        it.write("a")
    gaps = [number for number, pause in enumerate(pauses) if pause > 0]
    assert [pauses[number] for number in gaps] == pytest.approx([SLOT / 2] * len(gaps))
    # Each ten slots, or forty writes.
    assert 3 <= len(gaps) <= 5
    assert sum(pauses) < 0.06 * 200 * WRITE


def test_a_newcomer_may_write_before_those_who_take_turns() -> None:
    it = Replicas("a", "b", "new")
    for name in ("a", "b", "a", "b"):
        it.write(name)
    assert it.pauses() == {"new": PACE / 2, "a": PACE, "b": PACE + SLOT}


def test_who_is_overtaken_by_another_waits_for_no_dead_replica() -> None:
    it = Replicas("dead", "a", "b")
    for name in ("dead", "a", "b"):
        it.write(name)
    it.turns.pop("dead")
    assert it.pauses()["a"] == PACE + SLOT
    for _ in range(4):
        it.write("b")
        assert it.pauses()["a"] == PACE / 2
    # The other one knows that it is not alone, and leaves that time.
    assert it.pauses()["b"] == PACE
    it.write("a")
    assert it.pauses() == {"b": PACE, "a": PACE + 2 * SLOT}


def test_if_several_requests_wait_more_are_gathered_for_the_next_write() -> None:
    it = Replicas("a")
    it.write("a")
    assert it.pauses(waiting=1) == {"a": 0}
    assert it.pauses(waiting=2) == {"a": PACE}
    it.clock.turn(PACE)
    assert it.pauses(waiting=2) == {"a": 0}


def test_who_has_paused_anyway_leaves_no_room_besides() -> None:
    it = Replicas("a")
    for _ in range(100):
        assert it.turns["a"].pause("g") == 0
        it.write("a")
        it.clock.turn(SLOT)


def test_quotas_have_turns_of_their_own() -> None:
    it = Replicas("a", "b")
    for name in ("a", "b", "a"):
        it.write(name)
    assert it.turns["a"].pause("g") > 0
    assert it.turns["a"].pause("other") == 0
    it.turns["a"].forget("g")
    assert it.turns["a"].pause("g") == 0
