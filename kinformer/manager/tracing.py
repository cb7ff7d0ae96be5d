"""Tracing: a span for each sync of a key, and for each request of it, by OpenTelemetry.

::

    tracing = Tracing()  # with the tracer provider of the process
    manager = Manager(tracing.client(client), informers=SharedInformerFactory(client))
    tracing.trace(manager)
    await manager.run()

A sync's span has the requests that it makes as its children. It is linked to what triggered it, where that is known: to
the request of this process that wrote the version of the object whose change was told. So a Deployment's sync is
followed to the ReplicaSet's that it caused. Requests carry the ``traceparent`` header, so an API server that traces
goes on with the same trace.

This needs ``pip install 'kinformer[otel]'``. Nothing here is imported by anything else, and what is not traced has no
line of it in its way.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from opentelemetry import propagate, trace
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, Tracer, TracerProvider

from kinformer.client import Client
from kinformer.client.errors import ApiError
from kinformer.manager.checks import parts_of
from kinformer.manager.controller import Controller
from kinformer.manager.syncs import RequeueAfter, Sync

if TYPE_CHECKING:
    from kinformer.client.transport import Transport
    from kinformer.manager.manager import Manager

__all__ = ("Tracing",)

#: Of how many writes it is known which span they were made in.
_WRITES: Final = 4096

_READS: Final = ("GET", "HEAD")
_VERSION: Final = re.compile(rb'"resourceVersion":\s*"([^"]{1,64})"')
#: Bytes of an answer in which the object's own version is looked for: its metadata comes first.
_METADATA: Final = 4096


class Tracing:
    """
    Traces what one process does.

    :param provider: who makes spans; that of the process if None
    """

    def __init__(self, provider: TracerProvider | None = None) -> None:
        self._tracer: Tracer = trace.get_tracer("kinformer", tracer_provider=provider)
        #: In which span which version was written. A version is one write's alone in the whole server.
        self._writes: OrderedDict[str, SpanContext] = OrderedDict()

    def client(self, client: Client) -> Client:
        """The same client with a span around each of its requests; a watch, which is none, has no span."""
        return client.through(lambda transport: _TracedTransport(transport, self))

    def trace(self, manager: Manager) -> None:
        """Have a span around each sync of a manager's controllers. Called once, before it runs."""
        for runnable in manager.controllers.values():
            for controller in parts_of(runnable):
                self.trace_controller(controller)

    def trace_controller(self, controller: Controller) -> None:
        """Have a span around each sync of one controller."""
        controller.wrap_sync(lambda sync: self._traced(controller, sync))

    def _traced(self, controller: Controller, sync: Sync) -> Sync:
        name = f"sync {controller.name}"

        async def traced(key: str) -> float | timedelta | RequeueAfter | None:
            attributes, version = self._trigger(controller, key)
            written_in = self._writes.get(version)
            links = [] if written_in is None else [Link(written_in)]
            # A trace of its own: one sync has several triggers, and none of them waits for it.
            with self._tracer.start_as_current_span(
                name, context=trace.set_span_in_context(trace.INVALID_SPAN), attributes=attributes, links=links
            ) as span:
                try:
                    after = await sync(key)
                finally:
                    # A watch may bring a change before the write that made it is answered.
                    if written_in is None and (written_in := self._writes.get(version)) is not None:
                        span.add_link(written_in)
                if after is not None:
                    span.set_attribute("kinformer.requeue_after", _least_seconds(after))
                return after

        return traced

    def _trigger(self, controller: Controller, key: str) -> tuple[dict[str, str], str]:
        """What a sync's span says of its trigger, and the version of the object that changed."""
        namespace, _, name = key.rpartition("/")
        attributes = {"kinformer.controller": controller.name, "kinformer.key": key, "kinformer.name": name}
        if namespace:
            attributes["k8s.namespace.name"] = namespace
        running = controller.history.running(key)
        if running is None:
            return attributes, ""
        trigger = running[0]
        attributes["kinformer.trigger.event"] = trigger.event
        if trigger.informer:
            attributes["kinformer.trigger.informer"] = trigger.informer
        return attributes, trigger.version

    async def _request(self, transport: Transport, method: str, path: str, request: dict[str, Any]) -> bytes:
        server = urlsplit(transport.endpoint.server)
        attributes: dict[str, Any] = {
            "http.request.method": method,
            "server.address": server.hostname or "",
            "server.port": server.port or (443 if server.scheme == "https" else 80),
            "url.scheme": server.scheme,
            "url.path": path,
        }
        with self._tracer.start_as_current_span(
            method, kind=SpanKind.CLIENT, attributes=attributes, record_exception=False, set_status_on_exception=False
        ) as span:

            def answered(status: int) -> None:
                span.set_attribute("http.response.status_code", status)

            headers = dict(request.pop("headers", None) or {})
            propagate.inject(headers)
            try:
                answer = await transport.request(method, path, headers=headers, answered=answered, **request)
            except ApiError as error:
                span.set_attribute("error.type", error.reason or str(error.code))
                span.set_status(Status(StatusCode.ERROR, error.reason))
                raise
            except BaseException as error:
                span.set_attribute("error.type", type(error).__qualname__)
                span.set_status(Status(StatusCode.ERROR, type(error).__name__))
                raise
            if method not in _READS and (found := _VERSION.search(answer, 0, _METADATA)) is not None:
                self._wrote(found[1].decode("ascii", "replace"), span.get_span_context())
            return answer

    def _wrote(self, version: str, context: SpanContext) -> None:
        # The first: a write that changed nothing is answered with the version of the one before.
        self._writes.setdefault(version, context)
        if len(self._writes) > _WRITES:
            self._writes.popitem(last=False)


class _TracedTransport:
    """A transport with a span around each request; all else is the transport's that it wraps."""

    def __init__(self, transport: Transport, tracing: Tracing) -> None:
        self._transport = transport
        self._tracing = tracing

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    async def request(self, method: str, path: str, **request: Any) -> bytes:
        """See :meth:`Transport.request`."""
        return await self._tracing._request(self._transport, method, path, request)


def _least_seconds(after: float | timedelta | RequeueAfter) -> float:
    if isinstance(after, RequeueAfter):
        return after.seconds
    return after.total_seconds() if isinstance(after, timedelta) else after
