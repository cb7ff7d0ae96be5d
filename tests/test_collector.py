from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any
from weakref import ref

import pytest

from kinformer.cache import InformerOptions, ResourceEventHandlerFuncs, SharedIndexInformer
from kinformer.cache.testing import FakeControllerSource
from kinformer.clock import FakeClock
from kinformer.collector import LARGE, THRESHOLD, keep, relax
from tests.cache.informers import running
from tests.cache.scripted import obj


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


def test_relaxing_does_not_switch_on_a_collector_that_is_off() -> None:
    gc.disable()
    relax()

    assert not gc.isenabled()
    assert gc.get_threshold() == (700, 10, 10)


def test_the_environment_can_have_the_collector_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KINFORMER_GC", "default")
    relax()

    assert gc.get_threshold() == (700, 10, 10)


class Cycle:
    def __init__(self) -> None:
        self.own = self


@pytest.mark.parametrize(("setting", "collected"), [("", False), ("default", True)])
def test_what_is_kept_is_not_collected(monkeypatch: pytest.MonkeyPatch, setting: str, collected: bool) -> None:
    monkeypatch.setenv("KINFORMER_GC", setting)
    gone = ref(Cycle())
    keep()
    gc.collect()

    assert (gone() is None) is collected


@pytest.mark.parametrize("enabled", [True, False])
async def test_a_small_cache_leaves_the_collector_as_its_user_has_it(enabled: bool) -> None:
    frozen = gc.get_freeze_count()
    if not enabled:
        gc.disable()
    clock = FakeClock()
    source: FakeControllerSource[dict[str, Any]] = FakeControllerSource()
    source.add(obj("a", 1))
    informer = SharedIndexInformer(source, dict, clock=clock)
    seen: list[bool] = []
    informer.add_event_handler(ResourceEventHandlerFuncs(add=lambda _: seen.append(gc.isenabled())))
    async with running(informer.run):
        await clock.settle()

    assert [*seen, gc.isenabled()] == [enabled, enabled]
    assert gc.get_threshold() == (700, 10, 10)
    assert gc.get_freeze_count() == frozen


@pytest.mark.parametrize("listed", [LARGE, LARGE - 1])
@pytest.mark.parametrize("may", [True, False])
async def test_a_cache_that_grows_large_relaxes_the_collector_if_it_may(listed: int, may: bool) -> None:
    clock = FakeClock()
    source: FakeControllerSource[dict[str, Any]] = FakeControllerSource()
    for number in range(listed):
        source.add(obj(f"o-{number}", 1))
    informer = SharedIndexInformer(source, dict, options=InformerOptions(relax_collector=may), clock=clock)
    async with running(informer.run):
        await clock.settle()
        relaxed_by_list = gc.get_threshold()[0] == THRESHOLD
        source.add(obj("one-more", 1))
        await clock.settle()

    assert relaxed_by_list == (may and listed == LARGE)
    assert (gc.get_threshold()[0] == THRESHOLD) == may
