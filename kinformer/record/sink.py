"""Sinks: where events are written, and how hard that is tried.

:class:`EventWriter` is client-go's recordToSink: correlate, create or patch, and try again while the server cannot be
reached. What the server refuses is given up: it would refuse it again.
"""

from __future__ import annotations

import copy
import random
from typing import TYPE_CHECKING, Any, Protocol

import anyio

from kinformer.cancellation import ends_this_task
from kinformer.client.errors import AlreadyExists, ApiError, NotFound, has_status_cause
from kinformer.client.types import PatchType
from kinformer.clock import Clock
from kinformer.logs import get_logger
from kinformer.record.correlator import EventCorrelator

if TYPE_CHECKING:
    from kinformer.client import Client
    from kinformer.models import CoreV1Event

__all__ = ("ClientSink", "EventSink", "EventWriter")

log = get_logger(__name__)

#: How often one event is tried before it is given up, and seconds between.
MAX_TRIES = 12
RETRY_AFTER = 10.0


class EventSink(Protocol):
    """Stores events."""

    async def create(self, event: CoreV1Event) -> CoreV1Event:
        """Make the event, and return it as it is stored."""

    async def patch(self, event: CoreV1Event, patch: dict[str, Any]) -> CoreV1Event:
        """
        Change the stored event of that namespace and name, and return it as it is then.

        :raises NotFound: if it is no longer there
        """


class ClientSink:
    """The events of an API server (core/v1)."""

    __slots__ = ("_events",)

    def __init__(self, client: Client) -> None:
        from kinformer.models import CoreV1Event

        self._events = client.resource(CoreV1Event)

    async def create(self, event: CoreV1Event) -> CoreV1Event:
        return await self._events.create(event)

    async def patch(self, event: CoreV1Event, patch: dict[str, Any]) -> CoreV1Event:
        meta = event.metadata
        return await self._events.patch(meta.name, patch, meta.namespace, patch_type=PatchType.STRATEGIC)


class EventWriter:
    """Writes one broadcaster's events to one sink, one after the other."""

    __slots__ = ("_clock", "_correlator", "_hurries", "_retry_after", "_sink", "_wait")

    def __init__(
        self, sink: EventSink, correlator: EventCorrelator, clock: Clock, retry_after: float = RETRY_AFTER
    ) -> None:
        self._sink = sink
        self._correlator = correlator
        self._clock = clock
        self._retry_after = retry_after
        self._hurries = False
        self._wait: anyio.CancelScope | None = None

    def hurry(self) -> None:
        """Try each event once from now on, and wait for nothing: the process is about to end."""
        self._hurries = True
        if self._wait is not None:
            self._wait.cancel()

    async def write(self, event: CoreV1Event) -> None:
        """Write the event if the correlator lets it through. Raises nothing; may take minutes without a server."""
        # Others may be looking at the same event, and correlating it changes its name and count.
        event = copy.copy(event)
        event.metadata = copy.copy(event.metadata)
        event, patch, skip = self._correlator.correlate(event)
        if skip:
            return
        tried = 0
        while tried < MAX_TRIES:
            tried += 1
            if await self._try(event, patch):
                return
            if self._hurries:
                break
            if tried < MAX_TRIES:
                # The first wait is random, so that many clients do not all come back to a server at once.
                with anyio.CancelScope() as self._wait:
                    await self._clock.sleep(self._retry_after * (random.random() if tried == 1 else 1))
                self._wait = None
        log.error("event_given_up", tries=tried, **_named(event))

    async def _try(self, event: CoreV1Event, patch: dict[str, Any] | None) -> bool:
        """Whether the event is done with: written, or refused."""
        try:
            self._correlator.update_state(await self._store(event, patch))
        except ApiError as error:
            level = log.debug if isinstance(error, AlreadyExists) or _is_ending(error) else log.error
            level("event_refused", error=str(error), **_named(event))
        except BaseException as error:  # whatever a sink raises, the next event is to be written
            if ends_this_task(error):
                raise
            log.warning("event_not_written", error=str(error) or repr(error), **_named(event))
            return False
        return True

    async def _store(self, event: CoreV1Event, patch: dict[str, Any] | None) -> CoreV1Event:
        if patch is not None:
            try:
                return await self._sink.patch(event, patch)
            except NotFound:
                log.debug("event_expired_on_server", **_named(event))
        return await self._sink.create(_as_new(event))


def _as_new(event: CoreV1Event) -> CoreV1Event:
    """The event without the version of the one that it was to succeed."""
    from kinformer.models import V1ObjectMeta

    meta = event.metadata
    event.metadata = V1ObjectMeta(name=meta.name, namespace=meta.namespace, annotations=meta.annotations)
    return event


def _is_ending(error: ApiError) -> bool:
    """Whether a namespace that is being deleted refused it: nothing that anyone has to know."""
    return has_status_cause(error, "NamespaceTerminating")


def _named(event: CoreV1Event) -> dict[str, Any]:
    involved = event.involved_object
    return {
        "object": f"{involved.kind}/{involved.namespace or ''}/{involved.name}",
        "type": event.type,
        "reason": event.reason,
        "message": event.message,
    }
