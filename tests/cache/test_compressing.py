"""A cache that compresses: when its objects are compressed, and what handlers see of it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import anyio
import anyio.lowlevel
import msgspec
import pytest

from kinformer.bench.pods import pod_bytes
from kinformer.cache import InformerOptions, ResourceEventHandlerFuncs, SharedIndexInformer
from kinformer.cache.compressing import Compressor
from kinformer.cache.mutation_detector import CacheMutationDetector, Mutation
from kinformer.cache.testing import FakeControllerSource
from kinformer.cache.thread_safe_store import ThreadSafeStore
from kinformer.clock import FakeClock
from kinformer.models import Compression, V1Pod, _compression, decoder_for, to_dict
from tests.cache.informers import running

SPEC = V1Pod.__lazy_fields__["spec"]


@pytest.fixture(autouse=True)
def untaught() -> Iterator[None]:
    """Each test begins without a dictionary."""
    _compression._compression_of.cache_clear()
    yield
    _compression._compression_of.cache_clear()


def pod(number: int, node: str = "") -> V1Pod:
    text: Any = msgspec.json.decode(pod_bytes(number, alike=False).at(1))
    if node:
        text["spec"]["nodeName"] = node
    return decoder_for(V1Pod).decode(msgspec.json.encode(text))


def is_small(obj: V1Pod | None) -> bool:
    assert obj is not None
    return len(SPEC.peek(obj)) < 300


@pytest.mark.parametrize("supports_watch_list", [True, False])
@pytest.mark.parametrize("transform", [None, lambda obj: obj])
async def test_listed_objects_are_compressed_at_once_and_others_ten_seconds_later(
    supports_watch_list: bool, transform: Any
) -> None:
    clock, source = FakeClock(), FakeControllerSource(V1Pod, supports_watch_list=supports_watch_list)
    for number in range(150):
        source.add(pod(number))
    nodes: list[str] = []
    options = InformerOptions(compress=True)
    informer = SharedIndexInformer(source, V1Pod, transform=transform, options=options, clock=clock)
    informer.add_event_handler(
        ResourceEventHandlerFuncs(update=lambda _, new: nodes.append(new.spec.node_name), add=lambda _: None)
    )
    pods = informer.indexer.objects
    async with running(informer.run):
        await informer.wait_synced()
        in_list = [number for number in range(150) if is_small(pods[key(number)])]
        source.modify(pod(1, node="other"))
        source.add(pod(200))
        with anyio.fail_after(60):
            while not nodes or key(200) not in pods:
                await anyio.lowlevel.checkpoint()
        assert not is_small(pods[key(200)])
        await clock.advance(10.1)
        with anyio.fail_after(60):
            while not is_small(pods[key(200)]):
                await anyio.lowlevel.checkpoint()

        # With a transformer, a list that does not stream is transformed by the queue, after all of it has come.
        assert in_list == (list(range(96, 150)) if supports_watch_list or transform is None else [])
        assert is_small(pods[key(0)])
        assert nodes == ["other"]
        assert pods[key(1)].spec.node_name == "other"
        assert pods[key(2)] == with_version(pod(2), pods[key(2)])


def key(number: int) -> str:
    return f"team-{number % 100:02d}/web-{number:07d}"


def with_version(obj: V1Pod, like: V1Pod) -> V1Pod:
    obj.metadata.resource_version, obj.metadata.managed_fields = like.metadata.resource_version, None
    return obj


def test_the_mutation_detector_sees_changes_of_compressed_objects_and_nothing_else() -> None:
    compression, found = Compression(V1Pod), list[Mutation]()
    objects = [pod(number) for number in range(150)]
    detector = CacheMutationDetector("pods", on_mutation=found.append)
    for obj in objects:
        detector.add_object(obj)
    for obj in objects:
        compression.compress(obj)
    detector.compare_objects()
    assert is_small(objects[-1])
    assert found == []

    objects[-1].spec.node_name = "other"
    detector.compare_objects()
    assert [(it.key, it.changes) for it in found] == [(key(149), [".spec.node_name was changed"])]


def test_compression_without_the_package_is_refused_with_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "zstandard", None)

    with pytest.raises(ImportError, match=r"pip install 'kinformer\[zstd\]'"):
        InformerOptions(compress=True)


def test_objects_that_are_not_of_the_declared_form_stay_as_they_are() -> None:
    compressor = Compressor(V1Pod, ThreadSafeStore(), FakeClock())
    for number in range(100):
        compressor.compress(pod(number))
    of_a_transformer: list[Any] = [to_dict(pod(1)), 5, {"pod": pod(1)}]
    of_a_handler: Any = pod(2)
    of_a_handler.metadata = {"name": "other"}

    for obj in (*of_a_transformer, of_a_handler):
        compressor.compress(obj)

    assert of_a_transformer[0] == to_dict(pod(1))
    assert is_small(of_a_transformer[2]["pod"])
    assert of_a_handler.metadata == {"name": "other"}
    assert of_a_handler.spec == pod(2).spec
