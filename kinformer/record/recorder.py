"""Recorder: records events about objects, for people to read.

Recording an event costs a controller almost nothing, and never raises. The event is made and passed on. Another task
writes it later, or drops it if there are too many.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Protocol

from kinformer.clock import Clock
from kinformer.logs import get_logger
from kinformer.meta import accessor_of
from kinformer.meta.validation import dns1123_subdomain_errors
from kinformer.record.correlator import unix_nanos

if TYPE_CHECKING:
    from kinformer.models import CoreV1Event, V1ObjectReference

__all__ = ("NORMAL", "WARNING", "EventRecorder", "Recorder", "event_name", "reference_to")

log = get_logger(__name__)

#: The two types of events: normal ones, and warnings that a person may have to look at.
NORMAL: Final = "Normal"
WARNING: Final = "Warning"


class EventRecorder(Protocol):
    """The part of a recorder that controllers use. Tests use one that collects the events."""

    def event(
        self, obj: Any, type_: str, reason: str, message: str, annotations: Mapping[str, str] | None = None
    ) -> None:
        """
        Record an event about `obj`. It returns at once and raises nothing.

        :param obj: a model, a dict, a Struct, or a V1ObjectReference
        :param type_: NORMAL or WARNING
        :param reason: a word in CamelCase, by which programs distinguish events: ``SuccessfulCreate``
        :param message: a sentence for people
        """


class Recorder:
    """
    An :class:`EventRecorder` that sends its events to a broadcaster.

    :param send: called with a finished event; it must not block
    :param component: the source of the events: ``replication-controller``
    :param host: the node that it runs on, if that is of interest
    """

    __slots__ = ("_clock", "_component", "_event_of", "_host", "_last_nanos", "_meta_of", "_send", "_source")

    def __init__(self, send: Callable[[CoreV1Event], None], component: str, host: str, clock: Clock) -> None:
        from kinformer.models import CoreV1Event, V1EventSource, V1ObjectMeta

        # Models are made at their first use. To import them from there for each event would take 2 % of it.
        self._event_of, self._meta_of = CoreV1Event, V1ObjectMeta
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
            # No traceback, because the error is in the object, not in the code.
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
        now = self._clock.now()
        # Python's clock counts microseconds. Two events within one must not get the same name, or the second is lost.
        self._last_nanos = nanos = max(unix_nanos(now), self._last_nanos + 1)
        return self._event_of(
            api_version="v1",
            kind="Event",
            metadata=self._meta_of(
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
    """The name of an event about an object; a uuid if the object's name makes the result invalid."""
    name = f"{about}.{nanos:x}"
    return name if not dns1123_subdomain_errors(name) else str(uuid.uuid4())


def reference_to(obj: Any) -> V1ObjectReference:
    """
    Make a reference to a model, a dict or a user's own Struct (client-go's GetReference).

    If `obj` is a reference already, it is returned as it is.

    :raises LookupError: if neither the object nor its type names a kind, as for items of some lists
    """
    type_ = _type()
    if isinstance(obj, type_):
        return obj
    api_version, kind = _kind(obj)
    accessor = accessor_of(obj)
    name = accessor.object_name(obj)
    return type_(
        api_version=api_version,
        kind=kind,
        namespace=name.namespace or None,
        name=name.name,
        uid=accessor.uid(obj) or None,
        resource_version=accessor.resource_version(obj) or None,
    )


@cache
def _type() -> type[V1ObjectReference]:
    from kinformer.models import V1ObjectReference

    return V1ObjectReference


def _kind(obj: Any) -> tuple[str, str]:
    if isinstance(obj, Mapping):
        api_version, kind = obj.get("apiVersion"), obj.get("kind")
    else:
        api_version, kind = getattr(obj, "api_version", None), getattr(obj, "kind", None)
    if api_version and kind:
        return api_version, kind
    from kinformer.models import resource_for

    try:
        gvk = resource_for(type(obj)).gvk
    except LookupError:
        raise LookupError(
            f"an object of type {type(obj).__qualname__} does not say what kind it is: set its apiVersion and kind"
        ) from None
    return gvk.api_version, gvk.kind
