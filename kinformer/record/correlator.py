"""The correlator: what becomes of an event before it is written.

Three things happen to each, in this order, as in client-go's EventCorrelator:

1. *aggregation*: the tenth different message with one reason about one object within ten minutes, and every further
   one, goes into a single event "(combined from similar events)";
2. *deduplication*: an event that was there before raises that one's count, by a patch, instead of being made again;
3. *the spam filter*: a source that sends too much about one object is not heard for a while. What it drops has been
   counted before: the next one that passes shows how many there were.

What is remembered for this is bounded (:class:`~kinformer.record.lru.LRU`). There is no I/O here; whoever writes the
event tells :meth:`EventCorrelator.update_state` what the server made of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from kinformer.clock import Clock, RealClock
from kinformer.record.lru import LRU
from kinformer.record.spam import SpamFilter, spam_key

if TYPE_CHECKING:
    from kinformer.models import CoreV1Event

__all__ = (
    "Correlated",
    "CorrelatorOptions",
    "EventCorrelator",
    "aggregate_by_reason",
    "combined_message",
    "unix_nanos",
)


def aggregate_by_reason(event: CoreV1Event) -> tuple[str, str]:
    """The group of similar events (same source, object, type and reason), and what differs within it: the message."""
    source, involved = event.source, event.involved_object
    group = "".join(
        (
            source.component or "",
            source.host or "",
            involved.kind or "",
            involved.namespace or "",
            involved.name or "",
            involved.uid or "",
            involved.api_version or "",
            event.type or "",
            event.reason or "",
            event.reporting_component or "",
            event.reporting_instance or "",
        )
    )
    return group, event.message or ""


def combined_message(event: CoreV1Event) -> str:
    """How an event reads that stands for many."""
    return f"(combined from similar events): {event.message or ''}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrelatorOptions:
    """
    How much is too much; the defaults are client-go's.

    :param size: how many groups, counts and buckets are each remembered
    :param burst: events of one source about one object before the spam filter sets in
    :param rate: events a second that are let through after that
    :param max_events: different messages of one group from which on they are combined
    :param max_interval: seconds without an event of the group after which it starts anew
    :param group: which events are similar, and what differs between them
    :param message: the message of a combined event
    :param spam_key: which events share a bucket of the spam filter
    """

    size: int = 4096
    burst: int = 25
    rate: float = 1 / 300
    max_events: int = 10
    max_interval: float = 600
    group: Callable[[CoreV1Event], tuple[str, str]] = aggregate_by_reason
    message: Callable[[CoreV1Event], str] = combined_message
    spam_key: Callable[[CoreV1Event], str] = spam_key


class Correlated(NamedTuple):
    """
    What to do with an event.

    :param event: what to write: the event, one that combines several, or an earlier one with a higher count
    :param patch: how to bring what the server has up to date, None where it is to be created
    :param skip: do not write anything
    """

    event: CoreV1Event
    patch: dict[str, Any] | None
    skip: bool


@dataclass(slots=True)
class _Group:
    last: float
    local_keys: dict[str, None] = field(default_factory=dict)


class _Observed(NamedTuple):
    times: int
    first: datetime | None
    name: str
    resource_version: str


class EventCorrelator:
    """Aggregates, counts and filters the events of one writer. Events that it is given become its own to change."""

    __slots__ = ("_clock", "_groups", "_observed", "_options", "_spam")

    def __init__(self, options: CorrelatorOptions | None = None, clock: Clock | None = None) -> None:
        self._options = options or CorrelatorOptions()
        self._clock = clock or RealClock()
        size = self._options.size
        self._groups: LRU[str, _Group] = LRU(size)
        self._observed: LRU[str, _Observed] = LRU(size)
        self._spam = SpamFilter(size, self._options.burst, self._options.rate, self._clock, key=self._options.spam_key)

    def correlate(self, event: CoreV1Event) -> Correlated:
        """Say what is to be written for `event`, and remember that it was seen."""
        event, key = self._aggregate(event)
        patch = self._observe(event, key)
        return Correlated(event, patch, self._spam.is_spam(event))

    def update_state(self, event: CoreV1Event) -> None:
        """Take over the name, count and version that the server gave back for a written event."""
        self._remember(_event_key(event), event)

    def _aggregate(self, event: CoreV1Event) -> tuple[CoreV1Event, str]:
        """The event to write, and the key under which it is counted: its group's where it stands for many."""
        group_key, local_key = self._options.group(event)
        now = self._clock.monotonic()
        group = self._groups.get(group_key)
        if group is None or now - group.last > self._options.max_interval:
            group = _Group(now)
            self._groups.put(group_key, group)
        group.local_keys[local_key] = None
        group.last = now
        if len(group.local_keys) < self._options.max_events:
            return event, _event_key(event)
        # The set only has to say that it is full, not what is in it.
        del group.local_keys[next(iter(group.local_keys))]
        return self._combined(event), group_key

    def _combined(self, event: CoreV1Event) -> CoreV1Event:
        from kinformer.models import CoreV1Event, V1ObjectMeta

        now = self._clock.now()
        return CoreV1Event(
            metadata=V1ObjectMeta(
                name=f"{event.involved_object.name}.{unix_nanos(now):x}", namespace=event.metadata.namespace
            ),
            count=1,
            first_timestamp=now,
            last_timestamp=now,
            involved_object=event.involved_object,
            message=self._options.message(event),
            type=event.type,
            reason=event.reason,
            source=event.source,
        )

    def _observe(self, event: CoreV1Event, key: str) -> dict[str, Any] | None:
        """Count the event; when it is not the first, make it the earlier one's successor and return the patch."""
        seen = self._observed.get(key)
        patch: dict[str, Any] | None = None
        if seen is not None and seen.times > 0:
            event.metadata.name = seen.name
            event.metadata.resource_version = seen.resource_version
            event.first_timestamp = seen.first
            event.count = seen.times + 1
            patch = {"count": event.count, "lastTimestamp": _rfc3339(event.last_timestamp)}
            if event.message:
                patch["message"] = event.message
        self._remember(key, event)
        return patch

    def _remember(self, key: str, event: CoreV1Event) -> None:
        meta = event.metadata
        self._observed.put(key, _Observed(event.count or 0, event.first_timestamp, meta.name, meta.resource_version))


def _event_key(event: CoreV1Event) -> str:
    """Two events with one key are the same event again."""
    source, involved = event.source, event.involved_object
    return "".join(
        (
            source.component or "",
            source.host or "",
            involved.kind or "",
            involved.namespace or "",
            involved.name or "",
            involved.field_path or "",
            involved.uid or "",
            involved.api_version or "",
            event.type or "",
            event.reason or "",
            event.message or "",
        )
    )


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def unix_nanos(moment: datetime) -> int:
    """Nanoseconds since 1970, as event names carry them; exact, which a float is not."""
    return (moment - _EPOCH) // timedelta(microseconds=1) * 1000


def _rfc3339(moment: datetime | None) -> str | None:
    """The API's times of events are whole seconds in UTC."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if moment is not None else None
