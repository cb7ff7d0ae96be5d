"""Tracing with OpenTelemetry: a span for each sync of a key, and for each request of the sync.

::

    tracing = Tracing()  # with the tracer provider of the process
    manager = Manager(tracing.client(client), informers=SharedInformerFactory(client))
    tracing.trace(manager)
    await manager.run()

The spans of requests are children of the span of their sync. The span of a sync is linked to the request that triggered
it, if this process made that request: the one that wrote the version of the object whose change added the key. So a
trace leads from a Deployment's sync to the ReplicaSet's sync that it caused. Requests have the header ``traceparent``,
so that an API server with tracing continues the same trace.

This needs ``pip install 'kinformer[otel]'``. No other module imports this one, so code without tracing pays nothing for
it.
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
from kinformer.client.wrapping import WrappedTransport
from kinformer.manager.checks import parts_of
from kinformer.manager.controller import Controller
from kinformer.manager.syncs import RequeueAfter, Sync

if TYPE_CHECKING:
    from kinformer.client.transport import Transport
    from kinformer.manager.manager import Manager

__all__ = ("Tracing",)

#: How many writes are remembered with their spans.
_WRITES: Final = 4096

_READS: Final = ("GET", "HEAD")
_VERSION: Final = re.compile(rb'"resourceVersion":\s*"([^"]{1,64})"')
#: How many bytes of an answer are searched for the object's resourceVersion. The metadata comes first.
_METADATA: Final = 4096


class Tracing:
    """
    Traces the syncs and requests of one process.

    :param provider: creates the spans; the process's global provider if None
    """

    def __init__(self, provider: TracerProvider | None = None) -> None:
        self._tracer: Tracer = trace.get_tracer("kinformer", tracer_provider=provider)
        #: The span of each write, by resourceVersion. The versions of a server are unique over all objects.
        self._writes: OrderedDict[str, SpanContext] = OrderedDict()

    def client(self, client: Client) -> Client:
        """The same client with a span around each of its requests. Watches have no spans."""
        return client.through(lambda transport: _TracedTransport(transport, self))

    def trace(self, manager: Manager) -> None:
        """Put a span around each sync of a manager's controllers. Call this once, before the manager runs."""
        for runnable in manager.controllers.values():
            for controller in parts_of(runnable):
                self.trace_controller(controller)

    def trace_controller(self, controller: Controller) -> None:
        """Put a span around each sync of one controller."""
        controller.wrap_sync(lambda sync: self._traced(controller, sync))

    def _traced(self, controller: Controller, sync: Sync) -> Sync:
        name = f"sync {controller.name}"

        async def traced(key: str) -> float | timedelta | RequeueAfter | None:
            attributes, version = self._trigger(controller, key)
            written_in = self._writes.get(version)
            links = [] if written_in is None else [Link(written_in)]
            # Each sync begins a new trace: one sync may have several triggers, and none of them waits for it.
            with self._tracer.start_as_current_span(
                name, context=trace.set_span_in_context(trace.INVALID_SPAN), attributes=attributes, links=links
            ) as span:
                try:
                    after = await sync(key)
                finally:
                    # The watch may deliver a change before the answer to the write arrives.
                    if written_in is None and (written_in := self._writes.get(version)) is not None:
                        span.add_link(written_in)
                if after is not None:
                    span.set_attribute("kinformer.requeue_after", _least_seconds(after))
                return after

        return traced

    def _trigger(self, controller: Controller, key: str) -> tuple[dict[str, str], str]:
        """The attributes of a sync's span, and the resourceVersion of the object whose change triggered the sync."""
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
        # The first span stays: a write that changes nothing is answered with the version of an earlier write.
        self._writes.setdefault(version, context)
        if len(self._writes) > _WRITES:
            self._writes.popitem(last=False)


class _TracedTransport(WrappedTransport):
    """A transport with a span around each request. Everything else is passed to the wrapped transport."""

    def __init__(self, transport: Transport, tracing: Tracing) -> None:
        super().__init__(transport)
        self._tracing = tracing

    async def request(self, method: str, path: str, **request: Any) -> bytes:
        """See :meth:`Transport.request`."""
        return await self._tracing._request(self._transport, method, path, request)


def _least_seconds(after: float | timedelta | RequeueAfter) -> float:
    if isinstance(after, RequeueAfter):
        return _least_seconds(after.seconds)
    return after.total_seconds() if isinstance(after, timedelta) else after
