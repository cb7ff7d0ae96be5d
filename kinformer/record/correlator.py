"""EventCorrelator: aggregates, counts and filters events before they are written.

Each event goes through three steps, as in client-go's EventCorrelator:

1. *Aggregation*: if there are ten different messages with one reason about one object within ten minutes, the tenth and
   all further ones go into a single event "(combined from similar events)".
2. *Deduplication*: if the same event was written before, its count is raised by a patch, and no new event is made.
3. *The spam filter*: if a source sends too many events about one object, further ones are dropped for a while. They
   were counted before that, so the next event that passes shows their number.

The memory for this is limited (:class:`~kinformer.lru.LRU`). This module does no I/O. The code that writes the
event must pass the server's response to :meth:`EventCorrelator.update_state`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from kinformer.clock import Clock, RealClock
from kinformer.lru import LRU
from kinformer.workqueue import TokenBucket

if TYPE_CHECKING:
    from kinformer.models import CoreV1Event

__all__ = (
    "Correlated",
    "CorrelatorOptions",
    "EventCorrelator",
    "SpamFilter",
    "aggregate_by_reason",
    "combined_message",
    "spam_key",
    "unix_nanos",
)


def spam_key(event: CoreV1Event) -> str:
    """The key of an event's bucket. Events of one source and type about one object share it, whatever their reason."""
    source, involved = event.source, event.involved_object
    return "".join(
        (
            source.component or "",
            source.host or "",
            involved.kind or "",
            involved.namespace or "",
            involved.name or "",
            involved.uid or "",
            involved.api_version or "",
            event.type or "",
        )
    )


def aggregate_by_reason(event: CoreV1Event) -> tuple[str, str]:
    """The group of an event (same source, object, type and reason), and what differs within the group: the message."""
    rest = (event.reason, event.reporting_component, event.reporting_instance)
    return spam_key(event) + "".join(text or "" for text in rest), event.message or ""


def combined_message(event: CoreV1Event) -> str:
    """The message of an event that stands for many."""
    return f"(combined from similar events): {event.message or ''}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrelatorOptions:
    """
    The limits of a correlator. The defaults are client-go's.

    :param size: the most groups, counts and buckets that are each remembered
    :param burst: events of one source about one object before the spam filter drops any
    :param rate: events a second that pass the spam filter after that
    :param max_events: the number of different messages in a group from which on they are combined
    :param max_interval: seconds without an event of the group, after which the group starts again
    :param group: returns the group of an event, and what differs within the group
    :param message: returns the message of a combined event
    :param spam_key: returns the key of an event; events with the same key share a bucket of the spam filter
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

    :param event: the event to write: the event itself, a combined one, or an earlier one with a higher count
    :param patch: the patch for the event on the server; None if the event is to be created
    :param skip: whether to write nothing
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


class SpamFilter:
    """
    Decides which events to drop (client-go's EventSourceObjectSpamFilter).

    Each combination of source, object and type of event has a bucket of tokens. An event takes one token. If there is
    none, the event is dropped.

    :param size: the most buckets that are remembered
    """

    __slots__ = ("_buckets", "_burst", "_clock", "_key", "_rate")

    def __init__(self, size: int, burst: int, rate: float, clock: Clock, key: Callable[[CoreV1Event], str]) -> None:
        self._buckets: LRU[str, TokenBucket] = LRU(size)
        self._burst = burst
        self._rate = rate
        self._clock = clock
        self._key = key

    def is_spam(self, event: CoreV1Event) -> bool:
        """Whether to drop the event. If not, it has used up a token."""
        key = self._key(event)
        bucket = self._buckets.get(key)
        if bucket is None:
            # client-go's rate is a float32. So a token comes back some 20 µs before its five minutes are over.
            bucket = TokenBucket(_float32(self._rate), self._burst, self._clock)
            self._buckets.put(key, bucket)
        return not bucket.try_take()


def _float32(number: float) -> float:
    (rounded,) = struct.unpack("f", struct.pack("f", number))
    return float(rounded)


class EventCorrelator:
    """Aggregates, counts and filters the events of one writer. It may change the events that it is given."""

    __slots__ = ("_clock", "_groups", "_observed", "_options", "_spam")

    def __init__(self, options: CorrelatorOptions | None = None, clock: Clock | None = None) -> None:
        self._options = options or CorrelatorOptions()
        self._clock = clock or RealClock()
        size = self._options.size
        self._groups: LRU[str, _Group] = LRU(size)
        self._observed: LRU[str, _Observed] = LRU(size)
        self._spam = SpamFilter(size, self._options.burst, self._options.rate, self._clock, key=self._options.spam_key)

    def correlate(self, event: CoreV1Event) -> Correlated:
        """Decide what to write for `event`, and remember the event."""
        event, key = self._aggregate(event)
        skip = self._spam.is_spam(event)
        patch = self._observe(event, key, is_written=not skip)
        return Correlated(event, patch, skip)

    def update_state(self, event: CoreV1Event) -> None:
        """Remember the name, count and version that the server returned for a written event."""
        self._remember(_event_key(event), event)

    def _aggregate(self, event: CoreV1Event) -> tuple[CoreV1Event, str]:
        """The event to write, and the key under which it is counted: for a combined event, the key of its group."""
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
        # The set only has to show that it is full, not its content.
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

    def _observe(self, event: CoreV1Event, key: str, *, is_written: bool) -> dict[str, Any] | None:
        """
        Count the event. If it is not the first, turn it into the earlier one's successor, and return the patch.

        :param is_written: whether the patch is needed
        """
        seen = self._observed.get(key)
        patch: dict[str, Any] | None = None
        if seen is not None and seen.times > 0:
            event.metadata.name = seen.name
            event.metadata.resource_version = seen.resource_version
            event.first_timestamp = seen.first
            event.count = seen.times + 1
            if is_written:
                patch = {"count": event.count, "lastTimestamp": _rfc3339(event.last_timestamp)}
                if event.message:
                    patch["message"] = event.message
        self._remember(key, event)
        return patch

    def _remember(self, key: str, event: CoreV1Event) -> None:
        meta = event.metadata
        self._observed.put(key, _Observed(event.count or 0, event.first_timestamp, meta.name, meta.resource_version))


def _event_key(event: CoreV1Event) -> str:
    """The key of an event. Events with the same key are repetitions of one event."""
    rest = (event.involved_object.field_path, event.reason, event.message)
    return spam_key(event) + "".join(text or "" for text in rest)


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def unix_nanos(moment: datetime) -> int:
    """Nanoseconds since 1970, as used in event names. The number is exact, which a float would not be."""
    return (moment - _EPOCH) // timedelta(microseconds=1) * 1000


def _rfc3339(moment: datetime | None) -> str | None:
    """The API's times of events are whole seconds in UTC."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if moment is not None else None
