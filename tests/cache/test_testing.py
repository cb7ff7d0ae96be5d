from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kinformer.cache.testing import FakeControllerSource, expired
from kinformer.client.errors import ApiError, ConnectionLost, Expired, is_too_large_resource_version
from kinformer.client.types import ListOptions, WatchEvent
from kinformer.clock import FakeClock
from kinformer.models import V1Pod, from_dict
from tests.cache.informers import running, short
from tests.cache.scripted import event, obj, status_error


class Watching:
    """A watch, and what came through it."""

    def __init__(self, source: FakeControllerSource[Any], version: str = "", **options: Any):
        self.source = source
        self.options = ListOptions(resource_version=version, **options)
        self.got: list[str] = []
        self.error: Exception | None = None
        self.ended = False

    async def run(self) -> None:
        try:
            async with self.source.watch(self.options) as batches:
                async for batch in batches:
                    self.got.extend(f"{event.type} {event.object['metadata']['resourceVersion']}" for event in batch)
            self.ended = True
        except ApiError as error:
            self.error = error


@pytest.fixture
def source() -> FakeControllerSource[dict[str, Any]]:
    made: FakeControllerSource[dict[str, Any]] = FakeControllerSource()
    made.add(obj("foo", 0))
    made.modify(obj("foo", 0))
    made.modify(obj("foo", 0))
    return made


@pytest.mark.parametrize(
    ("version", "got"), [("1", ["MODIFIED 2", "MODIFIED 3"]), ("2", ["MODIFIED 3"]), ("3", []), ("", ["ADDED 3"])]
)
async def test_a_watch_brings_what_happened_after_its_version(
    source: FakeControllerSource[Any], version: str, got: list[str]
) -> None:
    clock = FakeClock()
    watching = Watching(source, version)
    async with running(watching.run):
        await clock.settle()
        source.delete("ns/foo")
        await clock.settle()

    assert watching.got == [*got, "DELETED 4"]


async def test_a_list_has_the_version_of_the_last_change(source: FakeControllerSource[Any]) -> None:
    listed = await source.list(ListOptions())

    assert listed.resource_version == source.resource_version == "3"
    assert [short(o) for o in listed.items] == ["foo@3"]


async def test_after_a_reset_only_the_present_can_be_watched_from(source: FakeControllerSource[Any]) -> None:
    clock = FakeClock()
    before, old, now = Watching(source, "3"), Watching(source, "1"), Watching(source, "3")
    async with running(before.run):
        await clock.settle()
        source.reset_watch()
        await clock.settle()
        assert before.ended
        async with running(old.run, now.run):
            await clock.settle()
            source.modify(obj("foo", 0))
            await clock.settle()

    assert isinstance(old.error, Expired)
    assert now.got == ["MODIFIED 4"]


async def test_watches_end_or_fail_after_what_they_were_sent(source: FakeControllerSource[Any]) -> None:
    clock = FakeClock()
    first, second = Watching(source, "3"), Watching(source, "3")
    async with running(first.run):
        await clock.settle()
        source.modify(obj("foo", 0))
        source.end_watches()
        await clock.settle()
    async with running(second.run):
        await clock.settle()
        source.end_watches(expired())
        await clock.settle()

    assert (first.got, first.ended) == (["MODIFIED 4"], True)
    assert isinstance(second.error, Expired)
    assert source.open_watches == 0


async def test_silent_changes_are_told_to_later_watches_only(
    source: FakeControllerSource[Any],
) -> None:
    clock = FakeClock()
    watching, later = Watching(source, "3"), Watching(source, "3")
    async with running(watching.run):
        await clock.settle()
        source.modify(obj("foo", 0), silently=True)
        source.delete("ns/foo", silently=True)
        source.add(obj("bar", 0), silently=True)
        await clock.settle()
        async with running(later.run):
            await clock.settle()

    assert watching.got == []
    assert later.got == ["MODIFIED 4", "DELETED 5", "ADDED 6"]
    assert "ns/bar" in source
    assert len(source) == 1


async def test_a_streaming_list_ends_with_its_bookmark_and_goes_on() -> None:
    source: FakeControllerSource[dict[str, Any]] = FakeControllerSource(supports_watch_list=True)
    source.add(obj("foo", 0))
    clock = FakeClock()
    watching = Watching(source, send_initial_events=True)
    async with running(watching.run):
        await clock.settle()
        source.modify(obj("foo", 0))
        source.send_bookmark()
        await clock.settle()

    assert watching.got == ["ADDED 1", "BOOKMARK 1", "MODIFIED 2", "BOOKMARK 2"]


async def test_what_has_not_happened_can_be_sent_too(source: FakeControllerSource[Any]) -> None:
    clock = FakeClock()
    watching = Watching(source, "3")
    async with running(watching.run):
        await clock.settle()
        source.send(event("MODIFIED", "foo", 3), event("DELETED", "never", 9))
        await clock.settle()

    assert watching.got == ["MODIFIED 3", "DELETED 9"]
    assert len(source) == 1


async def test_a_list_comes_in_pages_until_they_are_forgotten(source: FakeControllerSource[Any]) -> None:
    for name in ("bar", "qux"):
        source.add(obj(name, 0))
    first = await source.list(ListOptions(limit=1))
    second = await source.list(ListOptions(limit=1, continue_token=first.continue_token))
    source.forget_history()

    assert [short(o) for o in first.items + second.items] == ["foo@3", "bar@4"]
    with pytest.raises(Expired, match="continue parameter"):
        await source.list(ListOptions(limit=1, continue_token=second.continue_token))


async def test_lists_and_watches_can_be_refused(source: FakeControllerSource[Any]) -> None:
    source.list_error = status_error(403, "Forbidden", "no list")
    source.watch_error = ConnectionLost("https://server", "no watch")
    with pytest.raises(ApiError, match="no list"):
        await source.list(ListOptions())
    with pytest.raises(ConnectionLost, match="no watch"):
        async with source.watch(ListOptions()):
            pass
    assert [verb for verb, _ in source.calls] == ["list", "watch"]


async def test_a_future_version_is_refused_as_a_server_does(source: FakeControllerSource[Any]) -> None:
    with pytest.raises(ApiError) as refused:
        await source.list(ListOptions(resource_version="4"))
    assert is_too_large_resource_version(refused.value)


async def test_only_the_present_can_be_listed_exactly(source: FakeControllerSource[Any]) -> None:
    listed = await source.list(ListOptions(resource_version="3", resource_version_match="Exact"))
    assert len(listed.items) == 1
    with pytest.raises(Expired):
        await source.list(ListOptions(resource_version="2", resource_version_match="Exact"))


async def test_what_a_test_gives_and_what_it_gets_are_copies(source: FakeControllerSource[Any]) -> None:
    mine = obj("bar", 0)
    source.add(mine)
    mine["metadata"]["name"] = "changed"
    (await source.list(ListOptions())).items[0]["metadata"]["name"] = "changed"

    assert sorted(map(short, source)) == ["bar@4", "foo@3"]


def test_it_is_strict_about_what_is_there(source: FakeControllerSource[Any]) -> None:
    with pytest.raises(ValueError, match="ns/foo exists already"):
        source.add(obj("foo", 0))
    with pytest.raises(LookupError, match="there is no object ns/bar"):
        source.modify(obj("bar", 0))
    with pytest.raises(LookupError, match="there is no object ns/bar"):
        source.delete("ns/bar")


class Meta(msgspec.Struct, rename="camel"):
    name: str = ""
    resource_version: str = ""


class Widget(msgspec.Struct):
    metadata: Meta


@pytest.mark.parametrize(
    ("type_", "made"), [(V1Pod, from_dict(V1Pod, {"metadata": {"name": "a"}})), (Widget, Widget(Meta("a")))]
)
async def test_objects_may_be_models_or_structs(type_: Any, made: Any) -> None:
    source: FakeControllerSource[Any] = FakeControllerSource(type_, supports_watch_list=True)
    source.add(made)
    clock = FakeClock()
    got: list[WatchEvent[Any]] = []

    async def watch() -> None:
        async with source.watch(ListOptions(send_initial_events=True)) as batches:
            async for batch in batches:
                got.extend(batch)

    async with running(watch):
        await clock.settle()

    assert source["a"].metadata.resource_version == "1"
    assert [(type(event.object), event.object.metadata.resource_version) for event in got] == [(type_, "1")] * 2
