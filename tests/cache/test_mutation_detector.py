from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import anyio
import msgspec
import pytest

from kinformer.cache import (
    CacheMutatedError,
    CacheMutationDetector,
    DeletedFinalStateUnknown,
    Mutation,
    NoMutationDetector,
    new_mutation_detector,
)
from kinformer.cache.mutation_detector import differences
from kinformer.clock import FakeClock
from kinformer.models import LazyDict, OpenStruct, Parts, V1Pod, decoder_for, lazy_dict
from tests.cache.objects import pod

JSON = b"""{"metadata": {"name": "web", "namespace": "shop", "labels": {"app": "a"}},
 "spec": {"containers": [{"name": "c", "image": "i:1", "new field": 1}], "nodeName": "n1"},
 "status": {"phase": "Running", "startTime": "2026-01-01T00:00:00Z"}}"""


def a_pod() -> Any:
    return decoder_for(V1Pod).decode(JSON)


def found(detector: CacheMutationDetector) -> str:
    with pytest.raises(CacheMutatedError) as caught:
        detector.compare_objects()
    return str(caught.value)


def a_detector(obj: Any) -> CacheMutationDetector:
    detector = CacheMutationDetector("pods", clock=FakeClock())
    detector.add_object(obj)
    return detector


def test_a_changed_model_is_named_with_what_has_changed() -> None:
    obj = a_pod()
    detector = a_detector(obj)
    detector.compare_objects()

    obj.metadata.labels["app"] = "b"
    obj.spec.containers[0].image = "i:2"

    assert found(detector) == (
        'cache pods modified: V1Pod shop/web: .metadata.labels["app"] was changed; '
        ".spec.containers[0].image was changed"
    )


def test_a_change_is_told_once() -> None:
    obj = a_pod()
    detector = a_detector(obj)
    obj.metadata.labels["app"] = "b"
    found(detector)
    detector.compare_objects()

    obj.metadata.labels["app"] = "a"
    assert '.metadata.labels["app"] was changed' in found(detector)


def test_reading_a_field_that_is_decoded_when_read_is_no_change() -> None:
    obj = a_pod()
    detector = a_detector(obj)
    assert obj.spec.containers[0].image == "i:1"
    assert obj.status.start_time == datetime(2026, 1, 1, tzinfo=UTC)

    detector.compare_objects()
    assert type(V1Pod.__lazy_fields__["spec"].peek(obj)) is not msgspec.Raw


def test_comparing_reads_nothing_that_nobody_has_read() -> None:
    obj = a_pod()
    a_detector(obj).compare_objects()

    assert type(V1Pod.__lazy_fields__["spec"].peek(obj)) is msgspec.Raw


def test_a_field_that_was_read_and_set_is_a_change() -> None:
    obj = a_pod()
    detector = a_detector(obj)
    obj.status.phase = "Failed"

    assert ".status.phase was changed" in found(detector)


def test_an_object_too_deep_to_copy_is_not_watched_without_an_error() -> None:
    obj: Any = {"metadata": {"name": "deep"}}
    for _ in range(2000):
        obj = {"metadata": {"name": "deep"}, "a": obj}
    detector = a_detector(obj)

    assert detector.watched == 0
    detector.compare_objects()


def test_a_changed_dict_is_named_with_what_has_changed() -> None:
    obj: Any = {"metadata": {"name": "web", "finalizers": ["x"]}, "spec": {"a": 1, "b": None}}
    detector = a_detector(obj)
    obj["metadata"]["finalizers"].append("y")
    del obj["spec"]["a"]
    obj["spec"]["c"] = [1]

    assert found(detector) == (
        'cache pods modified: dict web: ["metadata"]["finalizers"][1] was added; '
        '["spec"]["a"] was removed; ["spec"]["c"] was added'
    )


def a_lazy_dict() -> LazyDict:
    text = b'{"metadata":{"name":"web","finalizers":["x"]},"spec":{"a":1,"b":[1]},"status":{"phase":"Running"}}'
    return lazy_dict(decoder_for(Parts).decode(text))


def test_reading_a_lazy_dict_is_no_change_and_comparing_reads_nothing() -> None:
    obj = a_lazy_dict()
    detector = a_detector(obj)
    assert obj["spec"]["a"] == 1
    assert obj["metadata"]["finalizers"] == ["x"]

    detector.compare_objects()
    assert type(dict.__getitem__(obj, "spec")) is dict
    assert type(dict.__getitem__(obj, "status")) is msgspec.Raw


def test_a_changed_lazy_dict_is_named_with_what_has_changed() -> None:
    obj = a_lazy_dict()
    detector = a_detector(obj)
    obj["metadata"]["finalizers"].append("y")
    obj["spec"]["b"][0] = 2
    del obj["status"]

    assert found(detector) == (
        'cache pods modified: LazyDict web: ["metadata"]["finalizers"][1] was added; '
        '["spec"]["b"][0] was changed; ["status"] was removed'
    )


class Inner(msgspec.Struct):
    size: int = 0
    colour: str = ""


class Lazy(msgspec.Struct):
    """A user's Struct with fields that its user decodes in place."""

    metadata: dict[str, Any]
    spec: Any = None
    extra: Any = None


def test_anybodys_raw_fields_are_compared_by_what_they_mean() -> None:
    obj = Lazy({"name": "web"}, msgspec.Raw(b'{"size":3,"ignored":1}'), msgspec.Raw(b"[1, 2]"))
    detector = a_detector(obj)
    obj.spec = msgspec.json.decode(obj.spec, type=Inner)
    obj.extra = [1, 2]
    detector.compare_objects()

    obj.spec.size = 4
    assert ".spec.size was changed" in found(detector)
    obj.extra = msgspec.Raw(b"[1, 2]")
    detector.compare_objects()
    obj.extra = msgspec.Raw(b"[1, 3]")
    assert ".extra" in found(detector)


class SaysItIsEqual(msgspec.Struct):
    metadata: dict[str, Any]
    value: int = 0

    def __eq__(self, other: object) -> bool:
        return True


def test_a_struct_that_says_it_is_equal_is_not_believed() -> None:
    obj = SaysItIsEqual({"name": "web"})
    detector = a_detector(obj)
    obj.value = 7

    assert ".value was changed" in found(detector)


class Open(OpenStruct):
    size: int = 0


@pytest.mark.parametrize(
    ("was", "now", "expected"),
    [
        ({"a": 1}, {"a": 1}, []),
        (Open(size=1, extra={"a": 1}), Open(size=2, extra={}), [".size was changed", '["a"] was removed']),
        ({"a": 1}, [1], ["object was changed"]),
        ([1, 2, 3], [1], ["[1] was removed", "[2] was removed"]),
        ((1, {"x": 2}), (1, {"x": 3}), ['[1]["x"] was changed']),
        (1, 2, ["object was changed"]),
        (None, {"a": 1}, ["object was changed"]),
    ],
)
def test_differences_are_told_by_place(was: object, now: object, expected: list[str]) -> None:
    assert list(differences(was, now)) == expected


def test_tombstones_are_not_watched() -> None:
    detector = a_detector(DeletedFinalStateUnknown("web", pod("web")))

    assert detector.watched == 0


def test_what_has_no_key_can_be_watched_too() -> None:
    obj = [1]
    detector = a_detector(obj)
    obj.append(2)

    assert found(detector) == "cache pods modified: list without a key: [1] was added"


def test_the_users_function_is_told_instead() -> None:
    told: list[Mutation] = []
    detector = CacheMutationDetector("pods", on_mutation=told.append, clock=FakeClock())
    one, two = pod("one"), pod("two", namespace="ns")
    detector.add_object(one)
    detector.add_object(two)
    one.metadata.name = "other"
    two.metadata.resource_version = "7"
    detector.compare_objects()

    assert [(mutation.key, mutation.obj) for mutation in told] == [("one", one), ("ns/two", two)]
    assert told[1].changes == [".metadata.resource_version was changed"]


@asynccontextmanager
async def running(detector: CacheMutationDetector) -> AsyncIterator[None]:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(detector.run)
        await anyio.wait_all_tasks_blocked()
        yield
        tasks.cancel_scope.cancel()


async def test_objects_are_compared_each_second() -> None:
    clock = FakeClock()
    told: list[Mutation] = []
    detector = CacheMutationDetector("pods", on_mutation=told.append, clock=clock)
    obj = pod("web")
    async with running(detector):
        detector.add_object(obj)
        obj.metadata.labels["app"] = "changed"
        await clock.advance(0.9)
        assert told == []
        await clock.advance(0.1)
        assert len(told) == 1


async def test_a_change_ends_the_run_with_an_error() -> None:
    clock = FakeClock()
    detector = CacheMutationDetector("pods", clock=clock)
    obj = pod("web")
    detector.add_object(obj)

    async def change() -> None:
        async with running(detector):
            obj.metadata.labels["app"] = "changed"
            await clock.advance(1)

    with pytest.raises(ExceptionGroup) as caught:
        await change()
    assert caught.group_contains(CacheMutatedError, match="cache pods modified: Pod web")


async def test_objects_are_compared_once_more_when_it_stops() -> None:
    detector = CacheMutationDetector("pods", clock=FakeClock())
    obj = pod("web")

    async def change() -> None:
        async with running(detector):
            detector.add_object(obj)
            obj.metadata.labels["app"] = "changed"

    with pytest.raises(ExceptionGroup) as caught:
        await change()
    assert caught.group_contains(CacheMutatedError)


async def test_objects_are_watched_for_two_to_four_minutes() -> None:
    clock = FakeClock()
    detector = CacheMutationDetector("pods", clock=clock)
    async with running(detector):
        detector.add_object(pod("early"))
        await clock.advance(119)
        detector.add_object(pod("late"))
        await clock.advance(100)
        assert detector.watched == 2
        await clock.advance(30)
        assert detector.watched == 0


async def test_many_objects_do_not_keep_the_loop() -> None:
    clock = FakeClock()
    detector = CacheMutationDetector("pods", clock=clock)
    for number in range(1000):
        detector.add_object(pod(f"pod-{number}"))
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await anyio.lowlevel.checkpoint()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(count)
        tasks.start_soon(detector.run)
        for _ in range(10):
            await anyio.lowlevel.checkpoint()
        tasks.cancel_scope.cancel()

    assert turns >= 5


@pytest.mark.parametrize("value", ["1", "t", "T", "true", "TRUE", "True"])
async def test_the_environment_turns_it_on(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("KUBE_CACHE_MUTATION_DETECTOR", value)
    detector = new_mutation_detector("pods")

    assert detector.enabled
    assert isinstance(detector, CacheMutationDetector)


@pytest.mark.parametrize("value", [None, "", "0", "false", "maybe"])
async def test_it_is_off_otherwise_and_does_nothing(monkeypatch: pytest.MonkeyPatch, value: str | None) -> None:
    monkeypatch.delenv("KUBE_CACHE_MUTATION_DETECTOR", raising=False)
    if value is not None:
        monkeypatch.setenv("KUBE_CACHE_MUTATION_DETECTOR", value)
    detector = new_mutation_detector("pods")

    assert isinstance(detector, NoMutationDetector)
    assert not detector.enabled
    detector.add_object(pod("web"))
    await detector.run()
