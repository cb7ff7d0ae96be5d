"""Accessors: how to read the metadata of one kind of object, whatever that kind is made of.

Objects come as models (:mod:`kinformer.models`), as a user's own :class:`msgspec.Struct` with only some of the fields,
or as plain dicts as JSON gives them. What differs between them is found out once, by :func:`accessor_for`; whoever
handles many objects of one kind (an informer, a store, a queue) asks for its accessor at the start and calls plain
functions from then on.

Reading never fails on what an object leaves out: a missing name is ``""``, missing labels are an empty mapping.
"""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Generic, TypeVar, cast

import msgspec

from kinformer.meta.names import ObjectName

__all__ = ("Accessor", "accessor_for", "accessor_of", "meta_namespace_key")

T = TypeVar("T")

_NOTHING: Mapping[str, Any] = {}


class Accessor(Generic[T]):
    """
    The metadata of objects of one type.

    :param read_meta: gives an object's metadata, or None
    :param read_field: makes a reader of one metadata field (by its JSON name) from that metadata
    """

    __slots__ = ("_meta", "_name", "_namespace", "_reader", "_rv", "_type", "key")

    def __init__(self, type_: type[T], read_meta: Callable[[T], Any], reader: Callable[[str], Callable[[Any], Any]]):
        self._type = type_
        self._meta = read_meta
        self._reader = cache(reader)
        self._name = name_of = reader("name")
        self._namespace = namespace_of = reader("namespace")
        self._rv = reader("resourceVersion")

        def key(obj: T) -> str:
            meta = read_meta(obj)
            namespace = namespace_of(meta)
            return f"{namespace}/{name_of(meta)}" if namespace else name_of(meta) or ""

        #: ``namespace/name``, or ``name`` where there is no namespace. A plain function, for hot paths.
        self.key: Callable[[T], str] = key

    @property
    def type(self) -> type[T]:
        """What the objects are: a model, a Struct, or dict."""
        return self._type

    def name(self, obj: T) -> str:
        return self._name(self._meta(obj)) or ""

    def namespace(self, obj: T) -> str:
        """Empty for what belongs to no namespace."""
        return self._namespace(self._meta(obj)) or ""

    def object_name(self, obj: T) -> ObjectName:
        meta = self._meta(obj)
        return ObjectName(self._namespace(meta) or "", self._name(meta) or "")

    def resource_version(self, obj: T) -> str:
        return self._rv(self._meta(obj)) or ""

    def uid(self, obj: T) -> str:
        return self.field(obj, "uid") or ""

    def generation(self, obj: T) -> int:
        return self.field(obj, "generation") or 0

    def labels(self, obj: T) -> Mapping[str, str]:
        """Never None. It may be the object's own mapping: not to be changed."""
        return self.field(obj, "labels") or _NOTHING

    def annotations(self, obj: T) -> Mapping[str, str]:
        """Never None. It may be the object's own mapping: not to be changed."""
        return self.field(obj, "annotations") or _NOTHING

    def finalizers(self, obj: T) -> Sequence[str]:
        return self.field(obj, "finalizers") or ()

    def owner_references(self, obj: T) -> Sequence[Any]:
        """As the object holds them: model owner references from models, dicts from dicts."""
        return self.field(obj, "ownerReferences") or ()

    def is_being_deleted(self, obj: T) -> bool:
        """Whether the object has a deletion timestamp: it is on its way out and waits for finalizers or grace."""
        return self.field(obj, "deletionTimestamp") is not None

    def field(self, obj: T, json_name: str) -> Any:
        """A metadata field by its JSON name, None where the object, or its type, does not have it."""
        return self._reader(json_name)(self._meta(obj))

    def copy(self, obj: T) -> T:
        """A deep copy that shares nothing that can be changed: what to work on before an update."""
        return copy.deepcopy(obj)


def accessor_of(obj: T) -> Accessor[T]:
    """The accessor for whatever `obj` is; :func:`accessor_for` of its type."""
    return accessor_for(type(obj))


def meta_namespace_key(obj: Any) -> str:
    """client-go's MetaNamespaceKeyFunc: ``namespace/name``, or ``name`` where there is no namespace."""
    return accessor_of(obj).key(obj)


def accessor_for(type_: type[T]) -> Accessor[T]:
    """
    How to read objects of `type_`; always the same one for the same type.

    :raises TypeError: if objects of that type have no metadata
    """
    return _accessor_for(cast("Any", type_))


@cache
def _accessor_for(type_: type[Any]) -> Accessor[Any]:
    if issubclass(type_, Mapping):
        return Accessor(type_, lambda obj: obj.get("metadata"), _mapping_reader)
    if issubclass(type_, msgspec.Struct):
        attribute = _attribute(type_, "metadata")
        if attribute is not None:
            return Accessor(type_, _getter(attribute), _struct_reader)
    raise TypeError(f"{type_.__qualname__} has no metadata: want a model, a msgspec.Struct with `metadata`, or dict")


def _mapping_reader(json_name: str) -> Callable[[Any], Any]:
    return lambda meta: meta.get(json_name) if meta else None


def _struct_reader(json_name: str) -> Callable[[Any], Any]:
    """Reads a field of metadata whose type is only seen with the first object: a Struct, or a mapping within one."""
    readers: dict[type, Callable[[Any], Any]] = {}

    def read(meta: Any) -> Any:
        try:
            return readers[type(meta)](meta)
        except KeyError:
            readers[type(meta)] = found = _field_reader(type(meta), json_name)
            return found(meta)

    return read


def _field_reader(meta_type: type, json_name: str) -> Callable[[Any], Any]:
    if issubclass(meta_type, Mapping):
        return _mapping_reader(json_name)
    attribute = _attribute(meta_type, json_name) if issubclass(meta_type, msgspec.Struct) else None
    return _getter(attribute) if attribute is not None else lambda _: None


def _attribute(struct: type[msgspec.Struct], json_name: str) -> str | None:
    encoded = dict(zip(struct.__struct_encode_fields__, struct.__struct_fields__, strict=True))
    return encoded.get(json_name)


def _getter(attribute: str) -> Callable[[Any], Any]:
    return operator.attrgetter(attribute)
