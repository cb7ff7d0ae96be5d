"""Spans of syncs and their requests, and the links between what a sync wrote and what that triggered."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from kinformer.client import Client, NotFound, ServerUnreachable, WrappedTransport, connect
from kinformer.clock import FakeClock
from kinformer.envtest import ApiServer
from kinformer.informers import SharedInformerFactory
from kinformer.manager import Controller, ControllerContext, Manager
from kinformer.manager.tracing import Tracing
from kinformer.models import V1ConfigMap, V1ObjectMeta, V1Secret
from tests.cache.informers import running


class Spans:
    """What was traced."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.tracing = Tracing(provider)

    def named(self, name: str) -> list[ReadableSpan]:
        return [span for span in self._exporter.get_finished_spans() if span.name == name]


@pytest.fixture
def spans() -> Spans:
    return Spans()


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with ApiServer() as server, connect(url=server.url, token=server.token) as client:
        yield client


def meta(name: str) -> V1ObjectMeta:
    return V1ObjectMeta(name=name, namespace="default")


class Chain:
    """Two controllers: one writes a Secret for each ConfigMap, the other looks at Secrets."""

    def __init__(self) -> None:
        self.wrote = anyio.Event()
        self.done = anyio.Event()

    def first(self, context: ControllerContext) -> Controller:
        async def sync(key: str) -> float | None:
            name = key.rpartition("/")[2]
            await context.client.resource(V1Secret).create(V1Secret(metadata=meta(name)))
            self.wrote.set()
            return 60

        configmaps = context.informers.informer_for(V1ConfigMap)
        return Controller("first", sync, clock=context.clock).watch(configmaps)

    def second(self, context: ControllerContext) -> Controller:
        async def sync(key: str) -> None:
            # A watch may bring the Secret before its creation is answered.
            await self.wrote.wait()
            self.done.set()

        return Controller("second", sync, clock=context.clock).watch(context.informers.informer_for(V1Secret))


@asynccontextmanager
async def traced(client: Client, spans: Spans, **known: Any) -> AsyncIterator[None]:
    manager = Manager(spans.tracing.client(client), known=known, informers=SharedInformerFactory(client))
    spans.tracing.trace(manager)
    async with running(manager.run):
        with anyio.fail_after(60):
            while not all(getattr(controller, "has_synced", True) for controller in manager.controllers.values()):
                await anyio.lowlevel.checkpoint()
            yield


async def test_a_sync_has_a_span_around_its_requests_linked_to_its_cause(client: Client, spans: Spans) -> None:
    chain = Chain()
    async with traced(client, spans, first=chain.first, second=chain.second):
        await client.resource(V1ConfigMap).create(V1ConfigMap(metadata=meta("a")))
        await chain.done.wait()
        while not (spans.named("sync first") and spans.named("sync second")):
            await anyio.lowlevel.checkpoint()

    (first,) = spans.named("sync first")
    assert dict(first.attributes or {}) == {
        "kinformer.controller": "first",
        "kinformer.key": "default/a",
        "kinformer.name": "a",
        "k8s.namespace.name": "default",
        "kinformer.trigger.event": "added",
        "kinformer.trigger.informer": "configmaps",
        "kinformer.requeue_after": 60,
    }
    assert first.links == ()  # the ConfigMap was not written by a traced client
    (post,) = [span for span in spans.named("POST") if "secrets" in str((span.attributes or {})["url.path"])]
    assert first.context is not None
    assert (post.attributes or {})["http.response.status_code"] == 201
    assert post.status.status_code is StatusCode.UNSET  # as OpenTelemetry wants it of a client's that went well
    assert post.context is not None
    assert post.parent is not None
    assert (post.kind, post.parent.span_id) == (SpanKind.CLIENT, first.context.span_id)
    (second,) = spans.named("sync second")
    assert [link.context.span_id for link in second.links] == [post.context.span_id]
    assert second.context is not None
    assert second.context.trace_id != first.context.trace_id
    assert second.parent is None


async def test_a_request_that_is_refused_and_a_sync_that_raises_say_why(client: Client, spans: Spans) -> None:
    async def sync(key: str) -> None:
        await traced_client.resource(V1ConfigMap).get("missing", "default")

    traced_client = spans.tracing.client(client)
    controller = Controller("failing", sync, clock=FakeClock())
    spans.tracing.trace_controller(controller)
    controller.queue.add("default/x")
    async with running(controller.run):
        while not spans.named("sync failing"):
            await anyio.lowlevel.checkpoint()

    (span,) = spans.named("sync failing")
    assert span.status.status_code is StatusCode.ERROR
    assert [event.name for event in span.events] == ["exception"]
    (get,) = spans.named("GET")
    assert get.status.status_code is StatusCode.ERROR
    attributes = dict(get.attributes or {})
    assert attributes["http.response.status_code"] == 404
    assert attributes["error.type"] == "NotFound"
    assert attributes["url.path"] == "/api/v1/namespaces/default/configmaps/missing"
    assert attributes["server.address"] == "127.0.0.1"


async def test_a_request_without_an_answer_has_an_error_and_no_status_code(spans: Spans) -> None:
    async with connect(url="http://127.0.0.1:1") as client:
        with pytest.raises(ServerUnreachable):
            await spans.tracing.client(client).resource(V1ConfigMap).get("any", "default")

    (get,) = spans.named("GET")
    assert get.status.status_code is StatusCode.ERROR
    attributes = dict(get.attributes or {})
    assert "http.response.status_code" not in attributes
    assert attributes["error.type"] == "ServerUnreachable"


async def test_the_requests_of_a_span_carry_its_trace_to_the_server(client: Client, spans: Spans) -> None:
    sent: list[Any] = []

    class Noting(WrappedTransport):
        async def request(self, method: str, path: str, **request: Any) -> bytes:
            sent.append(request["headers"]["traceparent"])
            return await self._transport.request(method, path, **request)

    with pytest.raises(NotFound):
        await spans.tracing.client(client.through(Noting)).resource(V1ConfigMap).get("missing", "default")

    (get,) = spans.named("GET")
    assert get.context is not None
    (parent,) = sent
    assert parent.startswith(f"00-{get.context.trace_id:032x}-{get.context.span_id:016x}-")
