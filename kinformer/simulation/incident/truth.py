"""Truth: the objects that the recorded server had, as far as the recording tells.

The caches of a recording may be behind, and a bug may be just that. A controller that reads from the server gets an
object in its newest state: of a watch, or of the answer to a write.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import msgspec

from kinformer.meta import is_older, parse_selector
from kinformer.meta.fields import parse_field_selector
from kinformer.meta.requests import About

__all__ = ("Truth",)


class Truth:
    """The newest state of each object, by the resource."""

    def __init__(self) -> None:
        self._objects: dict[str, dict[tuple[str, str], dict[str, Any]]] = defaultdict(dict)
        #: The newest version that was seen.
        self.version = "1"

    def note(self, resource: str, type_: str, data: bytes) -> None:
        """Note an event, or an answer to a write (``MODIFIED``)."""
        try:
            obj = msgspec.json.decode(data)
            metadata = obj["metadata"]
            key = metadata.get("namespace") or "", metadata["name"]
        except (msgspec.MsgspecError, TypeError, KeyError, AttributeError):
            return
        version, objects = metadata.get("resourceVersion") or "", self._objects[resource]
        known = objects.get(key)
        if known is not None and is_older(version, known["metadata"].get("resourceVersion") or ""):
            return
        if not is_older(version, self.version):
            self.version = version
        if type_ == "DELETED":
            objects.pop(key, None)
        elif type_ in ("ADDED", "MODIFIED"):
            objects[key] = obj

    def forget(self, what: About) -> None:
        """Note that an object was deleted, by an answer that does not have it."""
        self._objects[what.resource].pop((what.namespace, what.name), None)

    def get(self, what: About) -> dict[str, Any] | None:
        return self._objects[what.resource].get((what.namespace, what.name))

    def list(self, what: About, label_selector: str, field_selector: str) -> dict[str, Any]:
        """The objects of a resource, those of one namespace if a namespace is named."""
        labels = parse_selector(label_selector)
        fields = parse_field_selector(field_selector).requirements
        items = []
        for (namespace, name), obj in self._objects[what.resource].items():
            values = {"metadata.name": name, "metadata.namespace": namespace}
            if (
                what.namespace in ("", namespace)
                and labels.matches(obj["metadata"].get("labels") or {})
                and all((values[it.field] == it.value) == it.equal for it in fields if it.field in values)
            ):
                items.append(obj)
        metadata = {"resourceVersion": self.version}
        return {"kind": "List", "apiVersion": "v1", "metadata": metadata, "items": items}
