"""The recorder: by which a controller says what it did, about which object, for people to read.

Saying so costs a controller next to nothing and never fails it: the event is put together, handed on, and written by
somebody else when there is time; where there is none, it is dropped.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol

from kinformer.clock import Clock
from kinformer.logs import get_logger
from kinformer.record.correlator import unix_nanos
from kinformer.record.reference import reference_to

if TYPE_CHECKING:
    from kinformer.models import CoreV1Event, V1ObjectReference

__all__ = ("NORMAL", "WARNING", "EventRecorder", "Recorder", "event_name")

log = get_logger(__name__)

#: The two types of event: what is as it should be, and what somebody may have to look after.
NORMAL: Final = "Normal"
WARNING: Final = "Warning"

_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", re.ASCII)
_SUBDOMAIN_LENGTH = 253


class EventRecorder(Protocol):
    """What a controller needs of a recorder; tests give one that collects."""

    def event(
        self, obj: Any, type_: str, reason: str, message: str, annotations: Mapping[str, str] | None = None
    ) -> None:
        """
        Record an event about `obj`. Returns at once and raises nothing.

        :param obj: a model, a dict, a Struct, or a V1ObjectReference
        :param type_: NORMAL or WARNING
        :param reason: a word in CamelCase by which programs tell events apart: ``SuccessfulCreate``
        :param message: a sentence for people
        """


class Recorder:
    """
    An :class:`EventRecorder` that sends what it is told to a broadcaster.

    :param send: takes a finished event; must not block
    :param component: whom the events are from: ``replication-controller``
    :param host: the node that it runs on, where that says something
    """

    __slots__ = ("_clock", "_component", "_host", "_last_nanos", "_send", "_source")

    def __init__(self, send: Callable[[CoreV1Event], None], component: str, host: str, clock: Clock) -> None:
        from kinformer.models import V1EventSource

        self._send = send
        self._component = component
        self._host = host
        self._clock = clock
        self._source = V1EventSource(component=component, host=host or None)
        self._last_nanos = 0

    def event(
        self, obj: Any, type_: str, reason: str, message: str, annotations: Mapping[str, str] | None = None
    ) -> None:
        """See :meth:`EventRecorder.event`."""
        if type_ not in (NORMAL, WARNING):
            log.error("event_type_unknown", type=type_, reason=reason, message=message)
            return
        try:
            reference = reference_to(obj)
        except (LookupError, TypeError) as error:
            # No traceback: it is the object that is at fault.
            log.error("event_object_unknown", error=str(error), reason=reason, message=message)
            return
        self._send(self._make(reference, type_, reason, message, annotations))

    def _make(
        self,
        reference: V1ObjectReference,
        type_: str,
        reason: str,
        message: str,
        annotations: Mapping[str, str] | None,
    ) -> CoreV1Event:
        from kinformer.models import CoreV1Event, V1ObjectMeta

        now = self._clock.now()
        # Python's clock counts microseconds: two events within one must not have one name, or the second is lost.
        self._last_nanos = nanos = max(unix_nanos(now), self._last_nanos + 1)
        return CoreV1Event(
            api_version="v1",
            kind="Event",
            metadata=V1ObjectMeta(
                name=event_name(reference.name or "", nanos),
                namespace=reference.namespace or "default",
                annotations=dict(annotations) if annotations else None,
            ),
            involved_object=reference,
            type=type_,
            reason=reason,
            message=message,
            source=self._source,
            reporting_component=self._component,
            reporting_instance=self._host,
            count=1,
            first_timestamp=now,
            last_timestamp=now,
        )


def event_name(about: str, nanos: int) -> str:
    """A name for an event about the object of that name; a uuid where the two together would be no valid name."""
    name = f"{about}.{nanos:x}"
    if len(name) <= _SUBDOMAIN_LENGTH and _SUBDOMAIN.fullmatch(name):
        return name
    return str(uuid.uuid4())
