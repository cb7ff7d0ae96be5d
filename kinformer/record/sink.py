"""Sinks: store events, with retries.

:class:`EventWriter` is client-go's recordToSink. It correlates an event, creates or patches it, and retries while the
server cannot be reached. An event that the server refuses is dropped, because it would be refused again.
"""

from __future__ import annotations

import copy
import random
from dataclasses import dataclass, field
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

#: The most tries for one event, and the seconds between them.
MAX_TRIES = 12
RETRY_AFTER = 10.0

#: Seconds after which it is looked again whether the client has other requests.
LOOK_AGAIN = 0.02


class EventSink(Protocol):
    """Stores events."""

    async def create(self, event: CoreV1Event) -> CoreV1Event:
        """Create the event, and return it as it was stored."""

    async def patch(self, event: CoreV1Event, patch: dict[str, Any]) -> CoreV1Event:
        """
        Patch the stored event with the same namespace and name, and return it as it was stored.

        :raises NotFound: if it does not exist any more
        """


class ClientSink:
    """Stores events in an API server (core/v1)."""

    __slots__ = ("_client", "_events", "patience")

    def __init__(self, client: Client) -> None:
        from kinformer.models import CoreV1Event

        self._client = client
        self._events = client.resource(CoreV1Event)
        #: The seconds for which an event waits while :attr:`is_busy`.
        self.patience = client.options.event_patience

    @property
    def is_busy(self) -> bool:
        """Whether the client has other requests."""
        return self._client.is_busy

    async def create(self, event: CoreV1Event) -> CoreV1Event:
        return await self._events.create(event)

    async def patch(self, event: CoreV1Event, patch: dict[str, Any]) -> CoreV1Event:
        meta = event.metadata
        return await self._events.patch(meta.name, patch, meta.namespace, patch_type=PatchType.STRATEGIC)


@dataclass(eq=False, slots=True)
class EventWriter:
    """
    Writes one broadcaster's events to one sink, one after the other.

    Events wait while a :class:`ClientSink` is busy: for its patience from the first of them on, until it was not busy
    for once.
    """

    sink: EventSink
    correlator: EventCorrelator
    clock: Clock
    retry_after: float = RETRY_AFTER
    _hurries: bool = field(default=False, init=False)
    _wait: anyio.CancelScope | None = field(default=None, init=False)
    #: Since when the sink was busy each time that an event was to be written.
    _busy_since: float | None = field(default=None, init=False)

    def hurry(self) -> None:
        """From now on try each event once, and do not wait: the process is about to end."""
        self._hurries = True
        if self._wait is not None:
            self._wait.cancel()

    async def write(self, event: CoreV1Event) -> None:
        """Write the event, unless the correlator drops it. It raises nothing, and may take minutes without a server."""
        # Other listeners have the same event, and the correlator changes its name and count.
        event = copy.copy(event)
        event.metadata = copy.copy(event.metadata)
        event, patch, skip = self.correlator.correlate(event)
        if skip:
            return
        if isinstance(self.sink, ClientSink) and self.sink.patience:
            await self._wait_for_others(self.sink)
        tried = 0
        while tried < MAX_TRIES:
            tried += 1
            if await self._try(event, patch):
                return
            if self._hurries:
                break
            if tried < MAX_TRIES:
                # The first wait is random, so that many clients do not return to a server at the same time.
                await self._sleep(self.retry_after * (random.random() if tried == 1 else 1))
        log.error("event_given_up", tries=tried, **_named(event))

    async def _wait_for_others(self, sink: ClientSink) -> None:
        while sink.is_busy and not self._hurries:
            now = self.clock.monotonic()
            self._busy_since = now if self._busy_since is None else self._busy_since
            if now - self._busy_since >= sink.patience:
                return
            await self._sleep(LOOK_AGAIN)
        self._busy_since = None

    async def _sleep(self, seconds: float) -> None:
        """Wait, unless :meth:`hurry` is called."""
        with anyio.CancelScope() as self._wait:
            await self.clock.sleep(seconds)
        self._wait = None

    async def _try(self, event: CoreV1Event, patch: dict[str, Any] | None) -> bool:
        """Try once. Return whether the event needs no further try: it was written, or refused."""
        try:
            self.correlator.update_state(await self._store(event, patch))
        except ApiError as error:
            level = log.debug if isinstance(error, AlreadyExists) or _is_ending(error) else log.error
            level("event_refused", error=str(error), **_named(event))
        except BaseException as error:  # whatever a sink raises, the next event must be written
            if ends_this_task(error):
                raise
            log.warning("event_not_written", error=str(error) or repr(error), **_named(event))
            return False
        return True

    async def _store(self, event: CoreV1Event, patch: dict[str, Any] | None) -> CoreV1Event:
        if patch is not None:
            try:
                return await self.sink.patch(event, patch)
            except NotFound:
                log.debug("event_expired_on_server", **_named(event))
        return await self.sink.create(_as_new(event))


def _as_new(event: CoreV1Event) -> CoreV1Event:
    """The event as a new one, without the version of the one that it was to patch."""
    meta = event.metadata
    event.metadata = type(meta)(name=meta.name, namespace=meta.namespace, annotations=meta.annotations)
    return event


def _is_ending(error: ApiError) -> bool:
    """Whether the event was refused because its namespace is being deleted, which needs no attention."""
    return has_status_cause(error, "NamespaceTerminating")


def _named(event: CoreV1Event) -> dict[str, Any]:
    involved = event.involved_object
    return {
        "object": f"{involved.kind}/{involved.namespace or ''}/{involved.name}",
        "type": event.type,
        "reason": event.reason,
        "message": event.message,
    }
