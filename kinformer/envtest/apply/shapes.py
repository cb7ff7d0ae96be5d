"""Shapes: which values are merged field by field or entry by entry, and which are atomic.

For built-in kinds they come from the types (``topology.txt``). For custom kinds they come from the schema's
``x-kubernetes-list-type`` and ``x-kubernetes-map-type``. A shape is made when it is first needed, and is cached.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final

import msgspec

from kinformer.envtest.datafiles import read_table
from kinformer.envtest.registry import Resource
from kinformer.models._resources import model_name_of
from kinformer.models._source import model_names, shape_of

__all__ = ("LEAF", "Shape", "shape_of_resource", "topology_of")

#: The defaults of the fields of keys. The default of any other field is ``""``.
_DEFAULT_KEYS = {"protocol": "TCP", "containerPort": 0, "port": 0}
#: The fields of keys without a default.
_NO_DEFAULT = frozenset(("shareID",))

_encode = msgspec.json.Encoder().encode
_REMEMBERED = 500
_sorted = msgspec.json.Encoder(order="sorted").encode


class Shape:
    """
    How a value in an object is merged.

    :ivar is_leaf: whether the value is atomic. Numbers, texts and so on are atomic too. An atomic object or list still
        knows its fields or entries, so that they can be checked
    :ivar is_list: whether it is a list whose entries are merged one by one
    :ivar keys: the fields that identify an entry of a list. Empty for a list of plain values
    :ivar known: the fields of the type. None for a map, which has data as keys
    :ivar is_closed: whether the value can have no other fields
    """

    __slots__ = (
        *("_defaults", "_elements", "_fields", "_make"),
        *("entry", "is_closed", "is_leaf", "is_list", "keys", "known", "pieces"),
    )

    def __init__(
        self,
        *,
        is_leaf: bool = False,
        keys: tuple[str, ...] | None = None,
        entry: Shape | None = None,
        defaults: Mapping[str, Any] | None = None,
        known: frozenset[str] | None = None,
        make: Callable[[str], Shape] | None = None,
        is_open: bool = False,
    ):
        self.is_closed = known is not None and not is_open
        self.is_leaf = is_leaf
        self.is_list = keys is not None
        self.keys = keys or ()
        #: The shape of an entry of a list.
        self.entry = entry if entry is not None else self
        self.known = known
        self._defaults = defaults or {}
        self._fields: dict[str, Shape] = {}
        self._make = make
        #: A cache of the texts of the fields of objects of this shape, by the names of their fields.
        self.pieces: dict[tuple[str, ...], tuple[list[tuple[str, str, str]], str]] = {}
        self._elements: dict[str, str] = {}

    def field(self, name: str) -> Shape:
        """The shape of a field of an object."""
        found = self._fields.get(name)
        if found is None:
            found = self._make(name) if self._make is not None else LEAF
            # Names that the type does not have are keys of a map. There may be very many, so they are not cached.
            if self.known is None or name in self.known:
                self._fields[name] = found
        return found

    def is_named(self, name: str) -> bool:
        """Whether `name` is a field of the type, and not a key of a map."""
        return self.known is not None and name in self.known

    def element(self, entry: Any) -> str:
        """
        The path element of an entry of a list.

        :raises ValueError: if the entry has no key
        """
        if not self.keys:
            if isinstance(entry, dict | list) or entry is None:
                what = "an explicit null" if entry is None else "a map type"
                raise ValueError(f"associative list without keys has an element that's {what}")
            return f"v:{_encode(entry).decode()}"
        if not isinstance(entry, dict):
            what = "a null element" if entry is None else "non-map elements"
            raise ValueError(f"associative list with keys may not have {what}")  # noqa: TRY004 - the data is wrong
        first = entry.get(self.keys[0])
        if type(first) is str and (known := self._elements.get(first)) is not None:
            return known
        defaults = self._defaults
        key = {name: entry.get(name, defaults.get(name)) for name in self.keys if name in entry or name in defaults}
        if not key:
            omits = f"omits all key fields {_encode(self.keys).decode().replace(',', ' ')}"
            and_ = "(and doesn't have default values for any key fields)"
            raise ValueError(f"associative list with keys has an element that {omits} {and_}")
        element = f"k:{_sorted(key).decode()}"
        if len(self.keys) == 1 and type(first) is str:
            # Cached, because the entries of most lists have the same few names.
            if len(self._elements) > _REMEMBERED:
                self._elements.clear()
            self._elements[first] = element
        return element


LEAF: Final = Shape(is_leaf=True)


#: Data without a schema: maps are merged, lists are atomic.
DEDUCED: Final[Shape] = Shape(make=lambda _: DEDUCED)


def topology_of(model: str) -> dict[str, str]:
    """The marks of a type's fields, by name. The mark of the type itself has the name ``""``."""
    return _topology().get(model, {})


@cache
def _topology() -> dict[str, dict[str, str]]:
    return {type_: dict(map(_mark, marks)) for type_, *marks in read_table(__package__, "topology.txt")}


def _mark(word: str) -> tuple[str, str]:
    name = word.rstrip("!*").partition("=")[0]
    return name, word.removeprefix(name)


@cache
def _of_type(type_: str, mark: str = "") -> Shape:
    if mark == "!":
        return LEAF
    if type_.startswith("list["):
        entry = _of_type(type_[5:-1])
        if not mark.startswith("="):
            return Shape(is_leaf=True, entry=entry)
        keys = tuple(mark[1:].split(",")) if mark != "=" else ()
        defaults = {key: _DEFAULT_KEYS.get(key, "") for key in keys if key not in _NO_DEFAULT}
        return Shape(keys=keys, entry=entry, defaults=defaults)
    if type_.startswith("dict("):
        return Shape(make=lambda _: _of_type(type_.partition(", ")[2][:-1]))
    if type_ == "object":
        return DEDUCED
    if type_ not in model_names():
        return LEAF
    topology = topology_of(type_)
    source = shape_of(type_)
    types = {source.json_names[attribute]: of for attribute, of in source.types.items()}
    return Shape(
        is_leaf="" in topology and mark != "*",
        known=frozenset(types),
        make=lambda name: _of_type(types[name], topology.get(name, "")) if name in types else DEDUCED,
    )


def _of_schema(schema: Any) -> Shape:
    if not isinstance(schema, dict):
        return DEDUCED
    if schema.get("x-kubernetes-preserve-unknown-fields") and "properties" not in schema:
        return DEDUCED
    kind = schema.get("type")
    if kind == "array":
        how = schema.get("x-kubernetes-list-type")
        items = schema.get("items") or {}
        if how == "set":
            return Shape(keys=(), entry=LEAF)
        if how != "map":
            return Shape(is_leaf=True, entry=_of_schema(items))
        properties = items.get("properties") or {}
        keys = tuple(schema.get("x-kubernetes-list-map-keys") or ())
        defaults = {key: properties[key]["default"] for key in keys if "default" in (properties.get(key) or {})}
        return Shape(keys=keys, entry=_of_schema(items), defaults=defaults)
    if kind != "object":
        return DEDUCED if not kind else LEAF
    properties = dict(schema.get("properties") or {})
    more = schema.get("additionalProperties")
    is_atomic = schema.get("x-kubernetes-map-type") == "atomic"
    if not properties and isinstance(more, dict):
        return Shape(is_leaf=is_atomic, make=lambda _: _of_schema(more))
    return Shape(
        is_leaf=is_atomic,
        known=frozenset(properties),
        make=lambda name: _of_schema(properties[name]) if name in properties else DEDUCED,
        is_open=not properties or more is not None or bool(schema.get("x-kubernetes-preserve-unknown-fields")),
    )


def shape_of_resource(resource: Resource) -> Shape:
    """The shape of a resource's objects."""
    if resource.definition is None:
        try:
            return _of_type(model_name_of(resource.gvk))
        except KeyError:
            return DEDUCED
    own = _of_schema(resource.schema)
    metadata = _of_type("V1ObjectMeta")
    return Shape(
        known=(own.known or frozenset()) | {"apiVersion", "kind", "metadata"},
        make=lambda name: metadata if name == "metadata" else own.field(name),
        is_open=not own.is_closed,
    )
