"""What every model has, and how a field can stay the server's bytes until somebody reads it.

A model is a :class:`msgspec.Struct` whose fields are those of kubernetes_asyncio's class of that name. Some of its
fields (spec and status of a top-level kind, managedFields everywhere) are *lazy*: decoding leaves the server's bytes in
them, reading the attribute decodes these and keeps the result, and encoding an object that nobody has looked into
writes the same bytes again. Whoever uses a model cannot tell the difference, but for the time it takes.

Models are trees. They are left out of Python's cycle collection (``gc=False``), so a model that is made to contain
itself is never freed.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from datetime import UTC, date, datetime
from types import MemberDescriptorType
from typing import Any, ClassVar, TypeAlias

import msgspec

from kinformer.models._recurring import SHARERS

__all__ = (
    "LazyField",
    "MicroTime",
    "Model",
    "decode_hook",
    "encode_hook",
    "fingerprints_of",
    "note_fingerprints",
)


class MicroTime(datetime):
    """A time that the API wants with all six digits of its microseconds (Lease and Event have such)."""


def encode_hook(value: Any) -> Any:
    """What msgspec asks about values that JSON has no form for."""
    if isinstance(value, MicroTime):
        return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    if hasattr(value, "openapi_types") and hasattr(value, "attribute_map"):  # a model of kubernetes_asyncio's own
        return {
            value.attribute_map[name]: part
            for name in value.openapi_types
            if (part := getattr(value, name)) is not None
        }
    raise NotImplementedError(f"an object of type {type(value).__qualname__} cannot be written as JSON")


def decode_hook(type_: type, value: Any) -> Any:
    """What msgspec asks about types that are not its own."""
    if type_ is MicroTime:
        return MicroTime.fromisoformat(value)
    raise NotImplementedError(f"nothing is known of how to read a {type_.__qualname__}")


class LazyField:
    """
    A descriptor over a Struct's own slot, which holds the decoded value, the server's bytes of it, or None.

    :param slot: the Struct's member descriptor that this stands in front of
    :param type_name: what the bytes are, as an annotation that the models' namespace can resolve
    :param resolve: gives the decoder of that annotation; called once, when the first field is read
    """

    __slots__ = ("_decoder", "_resolve", "_share", "peek", "poke", "type_name")

    def __init__(self, slot: MemberDescriptorType, type_name: str, resolve: Any):
        #: Gives the slot of an object as it is: :class:`msgspec.Raw` where nobody has read the field yet.
        self.peek: Callable[[Any], Any] = slot.__get__
        #: Puts a value, or :class:`msgspec.Raw`, into the slot.
        self.poke: Callable[[Any, Any], None] = slot.__set__
        self._resolve = resolve
        self._decoder: msgspec.json.Decoder[Any] | None = None
        self._share: Callable[[Any], None] | None = None
        self.type_name = type_name

    def __get__(self, obj: Any, owner: type | None = None) -> Any:
        if obj is None:
            return self
        value = self.peek(obj)
        if type(value) is msgspec.Raw:
            if self._decoder is None:
                self._decoder = self._resolve(self.type_name)
                self._share = SHARERS.get(self.type_name)
            value = self._decoder.decode(value)
            if self._share is not None and value is not None:
                self._share(value)
            self.poke(obj, value)
        return value

    def __set__(self, obj: Any, value: Any) -> None:
        self.poke(obj, value)


class Model(msgspec.Struct, omit_defaults=True, gc=False):
    """
    The base of all models.

    kubernetes_asyncio's API classes take any model as a body: they ask for nothing but the two class attributes.
    """

    #: attribute name to type and attribute name to JSON name, as kubernetes_asyncio's models have them
    openapi_types: ClassVar[dict[str, str]] = {}
    attribute_map: ClassVar[dict[str, str]] = {}
    #: the lazy fields by attribute name
    __lazy_fields__: ClassVar[dict[str, LazyField]] = {}

    def to_dict(self, serialize: bool = False) -> dict[str, Any]:
        """
        The object as plain dicts, without what is None.

        :param serialize: under the names and in the forms that JSON has, rather than under the attributes' names
        """
        if serialize:
            result: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self, enc_hook=encode_hook))
            return result
        return {name: _plain(value) for name in self.__struct_fields__ if (value := getattr(self, name)) is not None}

    def __copy__(self) -> Any:
        return type(self)(*[slot.__get__(self) for slot in _slots(type(self))])

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return type(self)(*[_copied(slot.__get__(self)) for slot in _slots(type(self))])


#: What the bytes of an object's lazy fields were, one after the other: None where that is not known.
Fingerprints: TypeAlias = tuple[int | None, ...]


class _Fingerprinted:
    """Room for something that is no field: neither compared nor copied, shown or written."""

    __slots__ = ("_fingerprints",)
    _fingerprints: Fingerprints


class LazyModel(_Fingerprinted, Model):
    """A model with lazy fields: equal, shown and pickled by what it means, not by what is decoded already."""

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(_same(slot, field, self, other) for slot, field in _fields(type(self)))

    __hash__ = None  # type: ignore[assignment]  # as for every Struct that can be changed

    def __repr__(self) -> str:
        shown = (f"{name}={value!r}" for name in self.__struct_fields__ if (value := getattr(self, name)) is not None)
        return f"{type(self).__name__}({', '.join(shown)})"


def note_fingerprints(obj: LazyModel, fingerprints: Fingerprints) -> None:
    """Remember what the bytes were, for when they are decoded. A copy of the object does not know it."""
    obj._fingerprints = fingerprints


def fingerprints_of(obj: LazyModel) -> Fingerprints | None:
    """What was noted of this object; None if nothing was."""
    return getattr(obj, "_fingerprints", None)


def _same(slot: MemberDescriptorType, name: str, one: Any, other: Any) -> bool:
    # The same bytes mean the same; different bytes may still.
    return bool(slot.__get__(one) == slot.__get__(other) or getattr(one, name) == getattr(other, name))


def _fields(cls: type[Model]) -> zip[tuple[MemberDescriptorType, str]]:
    return zip(_slots(cls), cls.__struct_fields__, strict=True)


def _slots(cls: type[Model]) -> tuple[MemberDescriptorType, ...]:
    return cls.__slots_of_fields__  # type: ignore[attr-defined,no-any-return]  # set by _build, beside the LazyFields


_IMMUTABLE = (str, int, float, bool, type(None), date, msgspec.Raw)


def _copied(value: Any) -> Any:
    if isinstance(value, _IMMUTABLE):
        return value
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_copied(item) for item in value]
    return copy.deepcopy(value)


def _plain(value: Any) -> Any:
    if isinstance(value, Model):
        return value.to_dict()
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value
