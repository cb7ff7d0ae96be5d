"""Others: a watch asks the server to leave out the namespaces of other members."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from kinformer.cache import ListWatch
from kinformer.cache.listwatch import ListAgain, beside
from kinformer.client import BadRequest, ClientError, Forbidden, ListOptions, ObjectList, Status, WatchEvent, connect
from kinformer.client.types import BOOKMARK
from kinformer.envtest import ApiServer
from kinformer.models import V1ConfigMap, V1ObjectMeta, V1Pod
from kinformer.sharding import InformerCaches, RangeGate, Ranges
from kinformer.sharding.narrowing import RangesListWatch
from kinformer.sharding.others import Others

RANGES = Ranges(64)
OURS = frozenset({RANGES.of("ours")})
END = {"k8s.io/initial-events-end": "true"}


class Source:
    """A resource whose objects are in two namespaces, with an event for each watch."""

    compression = False

    def __init__(self, *refusals: ClientError) -> None:
        self.asked: list[str] = []
        self.began: list[str] = []
        self._refusals = list(refusals)

    async def list(self, namespace: str, options: ListOptions, **_: Any) -> ObjectList[V1Pod]:
        pods = [pod("ours"), pod("theirs"), pod("theirs"), pod("quiet")]
        return ObjectList(list(filter(_["accept"], pods)) if "accept" in _ else pods, "5")

    @asynccontextmanager
    async def watch(
        self, namespace: str, options: ListOptions, **_: Any
    ) -> AsyncIterator[AsyncIterator[Sequence[WatchEvent[Any]]]]:
        self.asked.append(options.field_selector)
        self.began.append(options.resource_version)
        if options.field_selector and self._refusals:
            raise self._refusals.pop()

        async def batches() -> AsyncIterator[Sequence[WatchEvent[Any]]]:
            if options.send_initial_events:
                kept = _["wanted"].left_out
                kept[b"theirs"] += 1
                mark = V1Pod(metadata=V1ObjectMeta(resource_version="7", annotations=END))
                yield [WatchEvent("ADDED", pod("ours")), WatchEvent(BOOKMARK, mark)]
            yield [WatchEvent("MODIFIED", pod("ours", "8"))]
            await anyio.sleep_forever()

        yield batches()


def pod(namespace: str, version: str = "5") -> V1Pod:
    return V1Pod(metadata=V1ObjectMeta(name="x", namespace=namespace, uid="u", resource_version=version))


def narrowed(source: Any, **more: Any) -> tuple[RangesListWatch[V1Pod], InformerCaches]:
    ranges = more.pop("ranges", RANGES)
    caches = InformerCaches(ranges, more.pop("by_uid", ()))
    caches.gate = RangeGate(ranges, lambda: True)
    caches.hold(OURS)
    part = caches.narrowed(ListWatch(source, **more), V1Pod, namespaced=True)
    assert isinstance(part, RangesListWatch)
    return part, caches


async def followed(part: RangesListWatch[V1Pod], *, streaming: bool = False) -> list[str]:
    """List and watch; the versions of the first events."""
    if not streaming:
        await part.list_as_it_comes(ListOptions(), lambda _: True)
    found: list[str] = []
    options = ListOptions(send_initial_events=True) if streaming else ListOptions(resource_version="5")
    async with part.watch(options) as batches:
        async for batch in batches:
            found += [event.object.metadata.resource_version or "" for event in batch if event.type != BOOKMARK]
            if "8" in found:
                break
    return found


BOTH = "metadata.namespace!=theirs,metadata.namespace!=quiet"


async def test_a_watch_leaves_out_the_namespaces_of_others() -> None:
    source = Source()
    part, _ = narrowed(source)

    assert await followed(part) == ["8"]
    assert source.asked == [BOTH]


async def test_a_selector_of_the_users_own_stays() -> None:
    source = Source()
    part, _ = narrowed(source, field_selector="spec.nodeName=n1")
    await followed(part)

    assert source.asked == [f"spec.nodeName=n1,{BOTH}"]


@pytest.mark.parametrize(
    "more",
    [{"namespace": "ours"}, {"by_uid": (V1Pod,)}, {"ranges": Ranges(64, by_owner=True)}],
    ids=["one namespace", "by uid", "by owner"],
)
async def test_nothing_is_left_out_where_namespaces_do_not_decide(more: dict[str, Any]) -> None:
    source = Source()
    part, caches = narrowed(source, **more)
    caches.hold(frozenset(range(64)))
    await followed(part)

    assert source.asked == [""]


async def test_a_namespace_that_comes_to_this_member_is_left_out_no_more() -> None:
    source = Source()
    part, caches = narrowed(source)
    await followed(part)
    caches.hold(OURS | {RANGES.of("theirs")})

    with pytest.raises(ListAgain):
        async with part.watch(ListOptions(resource_version="8")):
            pass
    await followed(part)

    assert source.asked == [BOTH, "metadata.namespace!=quiet"]


async def test_a_request_beside_the_reflectors_does_not_pass_for_a_list() -> None:
    part, caches = narrowed(Source())
    await followed(part)
    caches.hold(OURS | {RANGES.of("theirs")})

    other = beside(part)
    await other.list(ListOptions(limit=1))
    async with other.watch(ListOptions(resource_version="5")):
        pass

    assert not part.is_complete


async def test_a_server_that_refuses_the_selector_is_asked_for_everything() -> None:
    source = Source(BadRequest(Status(code=400, message="field label not supported")))
    part, _ = narrowed(source)

    assert await followed(part) == ["8"]
    assert await followed(part) == ["8"]
    assert source.asked == [BOTH, "", ""]


async def test_another_refusal_is_told() -> None:
    part, _ = narrowed(Source(Forbidden(Status(code=403, message="you may not"))))

    with pytest.raises(Forbidden):
        await followed(part)


async def test_a_streaming_list_goes_on_in_a_watch_that_leaves_others_out() -> None:
    source = Source()
    part, _ = narrowed(source)

    assert await followed(part, streaming=True) == ["5", "8"]
    assert list(zip(source.asked, source.began, strict=True)) == [("", ""), ("metadata.namespace!=theirs", "7")]


async def test_ranges_added_while_the_second_watch_opens_are_listed() -> None:
    source = Source()
    part, caches = narrowed(source)
    first = source.watch

    @asynccontextmanager
    async def watch(namespace: str, options: ListOptions, **more: Any) -> AsyncIterator[Any]:
        if not options.send_initial_events:
            caches.hold(OURS | {RANGES.of("theirs")})
        async with first(namespace, options, **more) as batches:
            yield batches

    source.watch = watch  # type: ignore[method-assign]  # its second call brings ranges
    with pytest.raises(ListAgain), anyio.fail_after(10):
        await followed(part, streaming=True)


# --- the selector


def others(**seen: int) -> Others:
    return Others(lambda name: name == "ours", Counter({name.encode(): count for name, count in seen.items()}))


def test_the_busiest_namespaces_come_first_and_the_selector_has_a_limit() -> None:
    found = others(**{f"team{number}": number for number in range(1000)})
    conditions = found.selector().split(",")

    assert conditions[:2] == ["metadata.namespace!=team999", "metadata.namespace!=team998"]
    assert 3900 < len(found.selector()) <= 4096


def test_namespaces_that_are_busy_now_take_the_places_of_others() -> None:
    found = others(**{f"team{number}": 1000 for number in range(1000)})
    for _ in range(8):
        found.selector()
    found.seen[b"new"] += 100

    assert found.selector().startswith("metadata.namespace!=new,")


def test_a_name_that_would_change_the_selector_is_not_in_it() -> None:
    found = others(theirs=1)
    found.note("a,metadata.name=b")

    assert found.selector() == "metadata.namespace!=theirs"


async def test_a_server_takes_the_selector() -> None:
    async with ApiServer() as server, connect(url=server.url, token=server.token) as client:
        maps = client.resource(V1ConfigMap)
        await maps.create({"metadata": {"name": "x"}}, "default")
        await maps.create({"metadata": {"name": "y"}}, "kube-system")
        found = await maps.list(options=ListOptions(field_selector=others(default=1).selector()))

    names = {each.metadata.name for each in found.items if each.metadata}
    assert "y" in names
    assert "x" not in names
