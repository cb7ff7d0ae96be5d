from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from kinformer.clock import FakeClock
from kinformer.collector import LONGEST_PAUSE, THRESHOLD, paused, relax


@pytest.fixture(autouse=True)
def the_collector_as_python_has_it() -> Iterator[None]:
    before, enabled = gc.get_threshold(), gc.isenabled()
    gc.set_threshold(700, 10, 10)
    gc.enable()
    yield
    gc.set_threshold(*before)
    if not enabled:
        gc.disable()


def test_relaxing_raises_the_threshold_of_the_youngest_only() -> None:
    relax()
    relax()

    assert gc.get_threshold() == (THRESHOLD, 10, 10)


@pytest.mark.parametrize("threshold", [0, THRESHOLD * 2])
def test_relaxing_leaves_a_collector_alone_that_is_off_or_more_relaxed(threshold: int) -> None:
    gc.set_threshold(threshold, 10, 10)
    relax()

    assert gc.get_threshold() == (threshold, 10, 10)


def test_pauses_may_overlap_and_the_last_one_ends_them() -> None:
    first, second = paused(FakeClock()), paused(FakeClock())
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert not gc.isenabled()

    second.__exit__(None, None, None)
    assert gc.isenabled()


def test_a_pause_ends_when_what_it_was_for_fails() -> None:
    with pytest.raises(ValueError, match="no"), paused(FakeClock()):
        raise ValueError("no")

    assert gc.isenabled()


def test_a_pause_ends_by_itself_when_what_it_is_for_takes_long() -> None:
    clock = FakeClock()
    with paused(clock):
        clock.turn(LONGEST_PAUSE)
        assert gc.isenabled()

    assert gc.isenabled()


def test_a_pause_does_not_switch_on_a_collector_that_was_off() -> None:
    gc.disable()
    with paused(FakeClock()):
        assert not gc.isenabled()

    assert not gc.isenabled()


def test_the_environment_can_have_the_collector_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KINFORMER_GC", "default")
    relax()
    with paused(FakeClock()):
        assert gc.isenabled()

    assert gc.get_threshold() == (700, 10, 10)


def test_what_was_made_in_a_pause_is_old_when_it_ends() -> None:
    with paused(FakeClock()):
        made = [[number] for number in range(1000)]

    assert len(gc.get_objects(generation=2)) > len(made)
    assert not any(one is made for one in gc.get_objects(generation=0))


def test_what_somebody_has_frozen_stays_frozen() -> None:
    gc.freeze()
    try:
        frozen = gc.get_freeze_count()
        with paused(FakeClock()):
            pass
        assert gc.get_freeze_count() == frozen
    finally:
        gc.unfreeze()
