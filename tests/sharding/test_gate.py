from __future__ import annotations

import asyncio

import anyio
import anyio.lowlevel
import pytest

from kinformer.sharding import RangeGate, Ranges, RangeState

RANGES = Ranges(8)
KEY = "default/web"
NUMBER = RANGES.of("default")


class Asked:
    """A gate, and what it has queued again."""

    def __init__(self) -> None:
        self.may_write = True
        self.again: list[str] = []
        self.drained = 0
        self.gate = RangeGate(RANGES, lambda: self.may_write, self._drained)

    def _drained(self) -> None:
        self.drained += 1

    def enters(self, key: str = KEY) -> bool:
        with self.gate.entered("default", key, lambda: self.again.append(key)) as may:
            return may

    def open(self) -> None:
        self.gate.claim({NUMBER})
        self.gate.filled(self.gate.unfilled)


def test_a_key_of_a_range_that_is_elsewhere_is_dropped() -> None:
    asked = Asked()
    assert not asked.enters()
    asked.open()
    assert asked.again == []


def test_a_key_before_its_objects_waits_and_is_queued_once() -> None:
    asked = Asked()
    asked.gate.claim({NUMBER})
    assert not asked.enters()
    assert not asked.enters()
    asked.gate.filled(asked.gate.unfilled)
    assert asked.again == [KEY]
    assert asked.enters()


def test_a_range_that_came_back_is_not_opened_by_an_earlier_read() -> None:
    asked = Asked()
    asked.gate.claim({NUMBER})
    before = asked.gate.unfilled
    asked.gate.drain({NUMBER})
    asked.gate.gave_up({NUMBER})
    asked.gate.claim({NUMBER})

    asked.gate.filled(before)

    assert not asked.enters()
    assert asked.gate.unfilled.keys() == {NUMBER}


def test_a_key_whose_objects_all_hold_waits_for_its_range() -> None:
    asked = Asked()
    gate, again = asked.gate, asked.again

    def enters() -> bool:
        with gate.entered("default", "default", lambda: again.append("default"), held_by_all=True) as may:
            return may

    assert not enters()
    asked.open()
    assert again == ["default"]
    gate.drain({NUMBER})
    assert not enters()
    gate.gave_up({NUMBER})
    asked.open()
    assert again == ["default", "default"]


def test_a_range_is_drained_when_its_last_running_sync_has_ended() -> None:
    asked = Asked()
    asked.open()
    with asked.gate.entered("default", "a", lambda: None), asked.gate.entered("default", "b", lambda: None):
        asked.gate.drain({NUMBER})
        assert not asked.enters()
        assert asked.gate.drained == set()
        assert asked.gate.running == 2
    assert asked.drained == 1
    assert asked.gate.drained == {NUMBER}


def test_a_range_that_stays_after_all_has_its_keys_queued_again() -> None:
    asked = Asked()
    asked.open()
    asked.gate.drain({NUMBER})
    assert not asked.enters()
    asked.gate.keep({NUMBER})
    assert asked.again == [KEY]
    assert asked.enters()


def test_a_kept_range_without_objects_goes_on_waiting_for_them() -> None:
    asked = Asked()
    asked.gate.claim({NUMBER})
    asked.gate.drain({NUMBER})
    asked.gate.keep({NUMBER})
    assert asked.gate.states == {NUMBER: RangeState.FILLING}


def test_keys_of_a_range_that_was_given_up_are_forgotten() -> None:
    asked = Asked()
    asked.gate.claim({NUMBER})
    asked.enters()
    asked.gate.gave_up({NUMBER})
    asked.open()
    assert asked.again == []
    assert asked.gate.held == {NUMBER}


def test_keys_wait_while_writing_is_forbidden_and_are_queued_afterwards() -> None:
    asked = Asked()
    asked.open()
    asked.may_write = False
    assert not asked.enters()
    asked.gate.let_waiting_in()
    assert asked.again == []
    asked.may_write = True
    asked.gate.let_waiting_in()
    assert asked.again == [KEY]


async def test_a_cancelled_sync_is_noted_because_its_write_may_arrive() -> None:
    asked = Asked()
    asked.open()
    with anyio.CancelScope() as scope, asked.gate.entered("default", KEY, lambda: None):
        scope.cancel()
        await anyio.lowlevel.checkpoint()
    assert asked.gate.has_cut
    assert asked.gate.running == 0


async def test_a_range_with_a_cancelled_sync_drains_after_its_write_time() -> None:
    asked = Asked()
    asked.open()
    with anyio.CancelScope() as scope, asked.gate.entered("default", KEY, lambda: None):
        scope.cancel()
        await anyio.lowlevel.checkpoint()
    asked.gate.drain({NUMBER})
    assert asked.gate.drained == frozenset()
    asked.gate.forget_cuts()
    assert asked.gate.drained == {NUMBER}


async def test_an_exception_of_a_sync_leaves_the_gate_as_any_end_does() -> None:
    asked = Asked()
    asked.open()
    with pytest.raises(asyncio.InvalidStateError), asked.gate.entered("default", KEY, lambda: None):
        raise asyncio.InvalidStateError
    assert asked.gate.running == 0
