"""Handlers that filter in the process what a selector would leave on the server."""

from __future__ import annotations

from typing import Any

import pytest
from structlog.testing import capture_logs

from kinformer.cache import FilteringResourceEventHandler, ResourceEventHandlerFuncs, SharedIndexInformer
from kinformer.cache.discards import selector_for
from kinformer.cache.testing import FakeControllerSource
from kinformer.envtest import running

MINE = {"app": "hub", "run": "1"}


def source_of(number: int, mine: int) -> FakeControllerSource:
    source = FakeControllerSource()
    for at in range(number):
        labels = {**MINE, "run": str(at)} if at % (number // mine) == 0 else {"app": "other"}
        source.add({"metadata": {"namespace": "default", "name": f"pod-{at}", "labels": labels}})
    return source


async def warnings_of(number: int, *handlers: Any, mine: int = 20) -> list[Any]:
    informer = SharedIndexInformer(source_of(number, mine), dict, name="pods")
    for handler in handlers:
        informer.add_event_handler(handler)
    with capture_logs() as logs:
        async with running(informer):
            await informer.wait_synced()
    return [each for each in logs if each["event"] == "handlers_discard_nearly_everything"]


def only(key: str) -> Any:
    return FilteringResourceEventHandler(lambda obj: key in obj["metadata"]["labels"], ResourceEventHandlerFuncs())


async def test_the_log_names_the_selector_that_would_help() -> None:
    (warning,) = await warnings_of(1000, only("run"))
    assert (warning["informer"], warning["held"], warning["wanted_percent"]) == ("pods", 1000, 2.0)
    assert "label_selector='app=hub'" in warning["hint"]


@pytest.mark.parametrize(
    ("number", "handlers", "mine"),
    [
        (900, [only("run")], 20),
        (1000, [only("run")], 200),
        (1000, [only("run"), ResourceEventHandlerFuncs()], 20),
        (1000, [only("app"), only("run")], 20),  # which have the same name
    ],
    ids=["few objects", "many wanted", "another handler", "another filter"],
)
async def test_nothing_is_said_where_a_selector_would_not_help(number: int, handlers: list[Any], mine: int) -> None:
    assert await warnings_of(number, *handlers, mine=mine) == []


@pytest.mark.parametrize(
    ("wanted", "others", "selector"),
    [
        ([{"app": "a"}, {"app": "a"}], [{"app": "b"}], "app=a"),
        ([{"run": "1"}, {"run": "2"}], [{"app": "b"}], "run"),
        ([{"app": "a"}], [{"app": "a"}] * 9, ""),
        ([{}], [{"app": "b"}], ""),
    ],
)
def test_a_selector_selects_the_wanted_and_few_others(wanted: Any, others: Any, selector: str) -> None:
    assert selector_for(wanted, [*wanted, *others], most=2 * len(wanted)) == selector
