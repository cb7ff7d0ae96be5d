"""Lists without an end: pages that go in a circle, pages that never stop, streaming lists that never stop."""

from __future__ import annotations

from typing import Any

import pytest

from kinformer.cache import InformerOptions, Reflector
from kinformer.cache.pager import list_in_pages
from kinformer.client import EndlessList
from kinformer.clock import FakeClock
from tests.cache.scripted import ScriptedListerWatcher, event, obj


class Store:
    """Counts what it is given."""

    def __init__(self) -> None:
        self.lists: list[int] = []

    def replace(self, objects: Any, resource_version: str = "") -> None:
        self.lists.append(len(objects))

    def add(self, obj: Any) -> None: ...

    update = delete = add

    def resync(self) -> None: ...


async def test_pages_that_go_in_a_circle_are_noticed() -> None:
    lw = ScriptedListerWatcher()
    for _ in range(5):
        lw.will_list(obj("a", 1), rv=1, continue_token="again")

    with pytest.raises(EndlessList, match="a page refers to itself as the next one"):
        await list_in_pages(lw, "0", 1, lambda _: True, begin=lambda: None)

    assert len(lw.calls) == 2


async def test_pages_that_never_stop_are_given_up_at_the_limit() -> None:
    lw = ScriptedListerWatcher()
    for page in range(100):
        lw.will_list(obj(f"a{page}", 1), obj(f"b{page}", 1), rv=1, continue_token=str(page))

    with pytest.raises(EndlessList, match="more than 10 objects"):
        await Reflector(lw, dict, Store(), options=InformerOptions(max_objects=10), clock=FakeClock()).list_and_watch()

    assert len(lw.calls) == 6


async def test_an_endless_streaming_list_stops_at_the_limit_before_a_list() -> None:
    lw = ScriptedListerWatcher(supports_watch_list=True)
    for batch in range(20):
        lw.send(*(event("ADDED", f"x{batch}-{n}", 1) for n in range(5)))
    lw.will_list(obj("a", 1), rv=1)
    lw.end_watch()
    store = Store()

    class Enough(Exception):
        pass

    def replace(objects: Any, resource_version: str = "") -> None:
        raise Enough

    store.replace = replace  # type: ignore[method-assign]
    with pytest.raises(Exception, match="unable to sync list result") as caught:
        await Reflector(lw, dict, store, options=InformerOptions(max_objects=10), clock=FakeClock()).list_and_watch()

    assert isinstance(caught.value.__cause__, Enough)
    assert [call.verb for call in lw.calls] == ["watch", "list"]
