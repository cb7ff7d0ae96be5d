"""What an informer does with objects that do not decode: from the server's bytes to the handlers."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import msgspec
import pytest
from structlog.testing import capture_logs

from kinformer.cache import DeletedFinalStateUnknown, InformerOptions, ResourceEventHandlerFuncs, SharedIndexInformer
from kinformer.cache.options import QueueKind
from kinformer.client.codec import ObjectCodec
from kinformer.client.errors import ConnectionLost, Expired, Status
from kinformer.client.types import ListOptions, ObjectList, WatchEvent
from kinformer.clock import FakeClock
from kinformer.models import V1ObjectMeta, V1Pod
from tests.cache.informers import running
from tests.levels import TOO_MANY
from tests.metrics import metric_value

DEEP = b'{"a":' * TOO_MANY + b"1" + b"}" * TOO_MANY
GOOD = b'{"image":"i"}'
#: Each holds a word that no log may show.
MISFITS = {
    "another type": b'{"image":["canary"]}',
    "too deep": b'{"image":"canary","more":%b}' % DEEP,
    "no UTF-8": b'{"image":"canary\xff"}',
}


class Spec(msgspec.Struct):
    image: str


class App(msgspec.Struct):
    metadata: V1ObjectMeta
    spec: Spec


def app(name: str, version: int, spec: bytes = GOOD) -> bytes:
    return b'{"metadata":{"name":"%b","namespace":"ns","resourceVersion":"%d"},"spec":%b}' % (
        name.encode(),
        version,
        spec,
    )


class Bytes:
    """A lister-watcher that is given the server's bytes, and decodes as a client does."""

    def __init__(self, type_: type[Any] = App, *, supports_watch_list: bool = False):
        self.supports_watch_list = supports_watch_list
        self._codec: ObjectCodec[Any] = ObjectCodec(type_, "example.com/v1", "App")
        self._lists: deque[bytes | Exception] = deque()
        self._reads: deque[bytes | Exception] = deque()
        self._told = anyio.Event()

    def will_list(self, *apps: bytes, rv: int, token: bytes = b"") -> None:
        meta = b'{"resourceVersion":"%d","continue":"%b"}' % (rv, token)
        self._lists.append(b'{"metadata":%b,"items":[%b]}' % (meta, b",".join(apps)))

    def will_refuse_list(self, error: Exception) -> None:
        self._lists.append(error)

    def send(self, *events: tuple[str, bytes]) -> None:
        self._reads.append(b"".join(b'{"type":"%b","object":%b}\n' % (kind.encode(), obj) for kind, obj in events))
        self._told.set()

    def fail(self, error: Exception) -> None:
        self._reads.append(error)
        self._told.set()

    async def list(self, options: ListOptions) -> ObjectList[Any]:
        answer = self._lists.popleft()
        if isinstance(answer, Exception):
            raise answer
        return self._codec.decode_list(answer, leave_out=True)

    @asynccontextmanager
    async def watch(self, options: ListOptions) -> AsyncIterator[AsyncIterator[Sequence[WatchEvent[Any]]]]:
        yield self._batches()

    async def _batches(self) -> AsyncIterator[Sequence[WatchEvent[Any]]]:
        while True:
            while not self._reads:
                self._told = anyio.Event()
                await self._told.wait()
            read = self._reads.popleft()
            if isinstance(read, Exception):
                raise read
            events, failure = self._codec.decode_events([read], leave_out=True)
            yield events
            if failure is not None:
                raise ConnectionLost("http://h", str(failure))


END = b'{"metadata":{"resourceVersion":"%d","annotations":{"k8s.io/initial-events-end":"true"}}}'


class Told:
    def __init__(self) -> None:
        self.told: list[str] = []

    def handler(self) -> ResourceEventHandlerFuncs[Any]:
        return ResourceEventHandlerFuncs(
            add=lambda obj: self.told.append(f"add {self._short(obj)}"),
            update=lambda _, obj: self.told.append(f"update {self._short(obj)}"),
            delete=lambda obj: self.told.append(f"delete {self._short(obj)}"),
        )

    def _short(self, obj: Any) -> str:
        if isinstance(obj, DeletedFinalStateUnknown):
            return f"?{obj.obj.metadata.name}@{obj.obj.metadata.resource_version}"
        return f"{obj.metadata.name}@{obj.metadata.resource_version}"

    def taken(self) -> list[str]:
        told, self.told = self.told, []
        return told


def metric(name: str, informer: str) -> float | None:
    return metric_value(name, {"informer": informer})


def stored(informer: SharedIndexInformer[Any]) -> list[str]:
    return sorted(f"{obj.metadata.name}@{obj.metadata.resource_version}" for obj in informer.indexer.list())


@pytest.mark.parametrize("misfit", MISFITS.values(), ids=MISFITS)
@pytest.mark.parametrize("queue", ["delta", "real"])
@pytest.mark.parametrize("watch_list", [False, True])
async def test_an_undecodable_object_is_left_out_of_a_list_and_reported_once(
    watch_list: bool, queue: QueueKind, misfit: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server = Bytes(supports_watch_list=watch_list)
    if watch_list:
        server.send(("ADDED", app("a", 1)), ("ADDED", app("bad", 2, misfit)), ("ADDED", app("b", 3)))
        server.send(("BOOKMARK", END % 3))
    else:
        server.will_list(app("a", 1), app("bad", 2, misfit), app("b", 3), rv=3)
    clock, told, name = FakeClock(), Told(), f"undecodable-{watch_list}-{queue}-{len(misfit)}"
    informer: SharedIndexInformer[Any] = SharedIndexInformer(
        server, App, name=name, options=InformerOptions(queue=queue), clock=clock
    )
    informer.add_event_handler(told.handler())
    with capture_logs() as logs:
        async with running(informer.run):
            await clock.settle()
            assert informer.has_synced
            assert stored(informer) == ["a@1", "b@3"]
            server.send(("MODIFIED", app("bad", 4, misfit)), ("MODIFIED", app("a", 5)))
            await clock.settle()
            assert metric("informer_undecodable_objects", name) == 1
            assert metric("informer_undecodable_objects_seen_total", name) == 2
            # It fits again.
            server.send(("MODIFIED", app("bad", 6)))
            await clock.settle()
            assert metric("informer_undecodable_objects", name) == 0

    assert stored(informer) == ["a@5", "b@3", "bad@6"]
    assert told.taken() == ["add a@1", "add b@3", "update a@5", "add bad@6"]
    errors = [line for line in logs if line["log_level"] == "error"]
    assert [(line["event"], line["key"]) for line in errors] == [("object_undecodable", "ns/bad")]
    assert errors[0]["error"].startswith("App ns/bad: ")
    assert "canary" not in str(logs) + caplog.text


@pytest.mark.parametrize("misfit", MISFITS.values(), ids=MISFITS)
@pytest.mark.parametrize("queue", ["delta", "real"])
async def test_the_last_state_that_fits_stays_until_the_object_is_really_gone(queue: QueueKind, misfit: bytes) -> None:
    server, clock, told = Bytes(), FakeClock(), Told()
    server.will_list(app("a", 1), app("b", 1), app("c", 1), rv=1)
    informer: SharedIndexInformer[Any] = SharedIndexInformer(
        server, App, options=InformerOptions(queue=queue), clock=clock
    )
    informer.add_event_handler(told.handler())
    async with running(informer.run):
        await clock.settle()
        told.taken()
        server.send(("MODIFIED", app("a", 2, misfit)), ("MODIFIED", app("b", 3, misfit)))
        await clock.settle()
        assert stored(informer) == ["a@1", "b@1", "c@1"]
        assert told.taken() == []
        assert informer.last_sync_resource_version == "3"

        # Listed again, they are no more gone than before; what the list does not have is.
        server.will_list(app("a", 2, misfit), app("c", 4), rv=4)
        server.fail(Expired(Status(code=410, reason="Expired")))
        await clock.settle()
        await clock.advance(5)
        assert stored(informer) == ["a@1", "c@4"]
        assert "delete ?b@1" in told.taken()

        server.send(("DELETED", app("a", 5, misfit)), ("DELETED", app("never seen", 6, misfit)))
        await clock.settle()
        assert stored(informer) == ["c@4"]
        assert told.taken() == ["delete ?a@1"]


@pytest.mark.parametrize("queue", ["delta", "real"])
async def test_an_object_that_comes_and_goes_is_gone_despite_an_undecodable_deletion(
    queue: QueueKind,
) -> None:
    server, clock, told = Bytes(), FakeClock(), Told()
    server.will_list(rv=1)
    informer: SharedIndexInformer[Any] = SharedIndexInformer(
        server, App, options=InformerOptions(queue=queue), clock=clock
    )
    informer.add_event_handler(told.handler())
    misfit = MISFITS["another type"]
    async with running(informer.run):
        await clock.settle()
        server.send(("ADDED", app("a", 2)), ("DELETED", app("a", 3, misfit)), ("DELETED", app("never seen", 4, misfit)))
        await clock.settle()

    assert stored(informer) == []
    assert told.taken() == ["add a@2", "delete ?a@2"]


def pod(version: int, spec: bytes, name: str = "p") -> bytes:
    return b'{"metadata":{"name":"%b","namespace":"ns","resourceVersion":"%d","labels":{"a":"b"}},"spec":%b}' % (
        name.encode(),
        version,
        spec,
    )


@pytest.mark.parametrize("queue", ["delta", "real"])
async def test_an_eager_informer_never_shows_an_update_that_does_not_decode(queue: QueueKind) -> None:
    server, clock, told = Bytes(V1Pod), FakeClock(), Told()
    server.will_list(pod(1, b'{"nodeName":"n"}'), rv=1)
    informer: SharedIndexInformer[Any] = SharedIndexInformer(
        server, V1Pod, options=InformerOptions(queue=queue, eager=True), clock=clock
    )
    informer.add_event_handler(told.handler())
    with capture_logs() as logs:
        async with running(informer.run):
            await clock.settle()
            server.send(("MODIFIED", pod(2, b'{"nodeName":["canary"]}')), ("ADDED", pod(3, b"[]", "q")))
            await clock.settle()
            assert stored(informer) == ["p@1"]
            server.send(("MODIFIED", pod(4, b'{"nodeName":"m"}')), ("DELETED", pod(5, b"[]")))
            await clock.settle()

    assert told.taken() == ["add p@1", "update p@4", "delete ?p@1"]
    errors = [line["error"] for line in logs if line["log_level"] == "error"]
    assert errors == [
        "Pod ns/p: spec.nodeName: Expected `str | null`, got `array`",
        "Pod ns/q: spec: Expected `object | null`, got `array`",
    ]
    assert "canary" not in str(logs)


@pytest.mark.parametrize("eager", [False, True])
async def test_an_object_is_finished_before_anybody_can_see_it(eager: bool) -> None:
    server, clock = Bytes(V1Pod), FakeClock()
    server.will_list(pod(1, b'{"nodeName":"n"}'), rv=1)
    seen: list[tuple[bool, bool]] = []
    peek = V1Pod.__lazy_fields__["spec"].peek  # type: ignore[attr-defined]  # as it lies there

    def index(obj: Any) -> list[str]:
        # An index function is called before the store has the object.
        before = informer.indexer.get_by_key("ns/p")
        if before is not None:
            shares = obj.metadata.labels is before.metadata.labels
            seen.append((shares, type(peek(obj)) is not msgspec.Raw))
        return ["all"]

    informer: SharedIndexInformer[Any] = SharedIndexInformer(
        server, V1Pod, options=InformerOptions(eager=eager), indexers={"all": index}, clock=clock
    )
    async with running(informer.run):
        await clock.settle()
        server.send(("MODIFIED", pod(2, b'{"nodeName":"m"}')))
        await clock.settle()

    assert seen == [(True, eager)]


async def test_a_handlers_change_to_the_cache_does_not_stay_and_is_reported() -> None:
    server, clock = Bytes(V1Pod), FakeClock()
    server.will_list(pod(1, b'{"nodeName":"n"}'), rv=1)
    informer: SharedIndexInformer[Any] = SharedIndexInformer(server, V1Pod, name="changed", clock=clock)
    seen: list[str] = []

    def update(_: Any, obj: Any) -> None:
        seen.append(obj.spec.node_name)
        if obj.metadata.resource_version in ("4", "22"):
            obj.spec.node_name = "canary"
            obj.metadata.labels["a"] = "canary"

    informer.add_event_handler(ResourceEventHandlerFuncs(add=lambda obj: obj.spec, update=update))
    with capture_logs() as logs:
        async with running(informer.run):
            await clock.settle()
            for version in range(2, 60):
                server.send(("MODIFIED", pod(version, b'{"nodeName":"n"}')))
                await clock.settle()

    assert seen[:3] == ["n"] * 3
    assert seen[-1] == "n"
    assert 1 <= seen.count("canary") <= 2 * 16
    assert informer.indexer.get_by_key("ns/p").metadata.labels == {"a": "b"}
    changed = [line for line in logs if line["event"] == "cached_object_changed"]
    assert [(line["object"], line["field"]) for line in changed] == [("ns/p", "spec")] * len(changed)
    assert changed[0]["log_level"] == "error"
    assert metric("informer_cache_changes_total", "changed") == len(changed) > 0
    assert "canary" not in str(logs)


async def test_an_undecodable_object_that_is_deleted_between_two_pages_is_gone() -> None:
    server, clock = Bytes(V1Pod), FakeClock()
    server.will_list(pod(1, b"{}"), rv=1)
    informer: SharedIndexInformer[Any] = SharedIndexInformer(
        server, V1Pod, options=InformerOptions(eager=True), clock=clock
    )
    async with running(informer.run):
        await clock.settle()
        server.will_list(pod(2, b"[]"), rv=2, token=b"next")
        server.will_refuse_list(Expired(Status(code=410, reason="Expired")))
        server.will_list(rv=2)
        server.fail(Expired(Status(code=410, reason="Expired")))
        await clock.settle()
        clock.turn(10)
        await clock.settle()

        assert informer.last_sync_resource_version == "2"
        assert stored(informer) == []
