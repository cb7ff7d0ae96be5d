"""Events. The same objects exist in two API groups, with different names for their fields.

They are stored as core/v1.
"""

from __future__ import annotations

from kinformer.envtest.causes import invalid, required
from kinformer.envtest.registry.schema import Problems
from kinformer.envtest.status import Cause
from kinformer.envtest.strategy.base import Obj, Strategy

__all__ = ("EventStrategy", "NewEventStrategy")

#: The names of fields: events.k8s.io's name, and core's name.
_NAMES = {
    "regarding": "involvedObject",
    "note": "message",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
    "reportingController": "reportingComponent",
}
_CORE_NAMES = {core: new for new, core in _NAMES.items()}


class EventStrategy(Strategy):
    def read_fields(self, obj: Obj) -> dict[str, str]:
        fields = super().read_fields(obj)
        fields["source"] = (obj.get("source") or {}).get("component") or obj.get("reportingComponent") or ""
        return fields

    def validate(self, obj: Obj) -> list[Cause]:
        namespace = obj["metadata"].get("namespace", "")
        about = obj.get("involvedObject", {}).get("namespace", "")
        if (about or "default") != namespace:
            return [invalid("involvedObject.namespace", about, "does not match event.namespace")]
        return []


class NewEventStrategy(EventStrategy):
    """events.k8s.io/v1. Its rules for new events are stricter."""

    is_converted = True

    def check(self, data: Obj, problems: Problems) -> Obj:
        return {_NAMES.get(name, name): value for name, value in super().check(data, problems).items()}

    def shown(self, obj: Obj) -> Obj:
        """Convert a stored event to events.k8s.io."""
        shown = {_CORE_NAMES.get(name, name): value for name, value in obj.items()}
        for name in ("deprecatedCount", "reportingController", "reportingInstance", "note"):
            if name in shown and not shown[name]:
                del shown[name]
        return shown

    def validate(self, obj: Obj) -> list[Cause]:
        causes = super().validate(obj)
        if not obj.get("eventTime"):
            causes.append(required("eventTime"))
        if (kind := obj.get("type", "")) not in ("Normal", "Warning"):
            causes.append(invalid("type", "", f"has invalid value: {kind}"))
        for name in ("firstTimestamp", "lastTimestamp", "count"):
            if obj.get(name):
                causes.append(invalid(name, "", "needs to be unset"))
        if any((obj.get("source") or {}).values()):
            causes.append(invalid("source", "", "needs to be unset"))
        for name, about in (("reportingComponent", "reportingController"), ("reportingInstance", "reportingInstance")):
            if not obj.get(name):
                causes.append(required(about))
        return causes
