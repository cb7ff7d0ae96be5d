"""Shapes: where an object is merged field by field or entry by entry, and where a value is one piece.

For built-in kinds they follow from what strategic merge patches know (:mod:`kinformer.meta.patch`), with the few places
where apply differs; for custom ones from the schema's ``x-kubernetes-list-type`` and ``x-kubernetes-map-type``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kinformer.envtest.registry import Resource
from kinformer.meta.names import GroupVersionKind
from kinformer.meta.patch import TYPES, Field, PatchError, schema_for

__all__ = ("Shape", "shape_of_resource")

#: Lists that apply tells apart by more than strategic merge patches do: field and merge key to all keys.
_MORE_KEYS = {
    ("ports", "containerPort"): ("containerPort", "protocol"),
    ("ports", "port"): ("port", "protocol"),
    ("topologySpreadConstraints", "topologyKey"): ("topologyKey", "whenUnsatisfiable"),
}
#: Objects that are one piece wherever they stand.
_ATOMIC = frozenset(
    (
        *("selector", "labelSelector", "namespaceSelector", "nodeSelector", "scopeSelector"),
        *("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "secretRef", "claimRef", "targetRef"),
        *("overhead", "limits", "requests"),
    )
)
_DEFAULTS: Mapping[str, Any] = {"protocol": "TCP"}


class Shape:
    """
    How one place of an object is merged.

    :ivar keys: for a list, the fields by which entries are the same; empty for a list that is none
    :ivar is_set: whether it is a list of scalars that are each owned
    :ivar atomic: whether it is one piece
    """

    keys: tuple[str, ...] = ()
    is_set = False
    atomic = False

    def field(self, name: str) -> Shape:
        """The shape of a field of an object."""
        return self

    @property
    def entry(self) -> Shape:
        """The shape of an entry of a keyed list."""
        return self

    def is_keyed(self, entries: Iterable[Any]) -> bool:
        """Whether these are entries that have keys: what is no object has none."""
        return bool(self.keys) and all(isinstance(entry, dict) for entry in entries)

    def key_of(self, entry: Mapping[str, Any]) -> dict[str, Any]:
        return {key: entry.get(key, _DEFAULTS.get(key)) for key in self.keys}


class _BuiltIn(Shape):
    def __init__(self, schema: Mapping[str, Field], name: str = "", field: Field | None = None):
        self._schema = schema
        self.atomic = name in _ATOMIC
        if field is not None and field.merge:
            self.keys = _MORE_KEYS.get((name, field.key), (field.key,) if field.key else ())
            self.is_set = not field.key

    def field(self, name: str) -> Shape:
        found = self._schema.get(name)
        return _BuiltIn(TYPES.get(found.type, {}) if found is not None else {}, name, found)

    @property
    def entry(self) -> Shape:
        return _BuiltIn(self._schema)


class _Custom(Shape):
    def __init__(self, schema: Mapping[str, Any]):
        self._schema = schema
        kind = schema.get("x-kubernetes-list-type")
        self.keys = tuple(schema.get("x-kubernetes-list-map-keys") or ()) if kind == "map" else ()
        self.is_set = kind == "set"
        self.atomic = schema.get("x-kubernetes-map-type") == "atomic"

    def field(self, name: str) -> Shape:
        found = (self._schema.get("properties") or {}).get(name)
        if found is None:
            found = self._schema.get("additionalProperties")
        return _Custom(found if isinstance(found, dict) else {})

    @property
    def entry(self) -> Shape:
        items = self._schema.get("items")
        return _Custom(items if isinstance(items, dict) else {})


def shape_of_resource(resource: Resource) -> Shape:
    """The shape of a resource's objects."""
    if resource.definition is not None:
        return _Custom((resource.definition.get("schema") or {}).get("openAPIV3Schema") or {})
    try:
        return _BuiltIn(schema_for(GroupVersionKind(resource.group, resource.version, resource.kind)))
    except PatchError:
        return _BuiltIn({})
