"""What every model has: kubernetes_asyncio's two class attributes, plain dicts, copies, and equality by meaning.

A model is a :class:`msgspec.Struct` whose fields are those of kubernetes_asyncio's class of that name. Some of its
fields may be *lazy* (:mod:`kinformer.models._lazy`). Whoever uses a model cannot tell the difference, but for the time
it takes.

Models are trees. They are left out of Python's cycle collection (``gc=False``), so a model that is made to contain
itself is never freed.
"""

from __future__ import annotations

import copy
from datetime import UTC, date, datetime
from functools import cache
from types import MemberDescriptorType
from typing import Any, ClassVar, cast

import msgspec

from kinformer.models._errors import ObjectDecodeError
from kinformer.models._lazy import LazyField, Marked

__all__ = ("LazyModel", "MicroTime", "Model", "decode_hook", "encode_hook", "keeping_micro_times")


class MicroTime(datetime):
    """
    A time that the API wants with all six digits of its microseconds (Lease and Event have such).

    A plain datetime that is put into such a field becomes one.
    """


def keeping_micro_times(attributes: frozenset[str]) -> dict[str, Any]:
    """
    The methods by which a model keeps plain datetimes as what these fields hold.

    msgspec writes a plain datetime of a whole second without a fraction, which the API server refuses: it would happen
    once in a million writes.
    """

    def post_init(self: Any) -> None:
        for name in attributes:
            if type(value := getattr(self, name)) is datetime:
                setattr(self, name, value)

    def set_attribute(self: Any, name: str, value: Any) -> None:
        if name in attributes and type(value) is datetime:
            value = MicroTime.fromisoformat(value.isoformat())
        msgspec.Struct.__setattr__(self, name, value)

    return {"__post_init__": post_init, "__setattr__": set_attribute}


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
            from kinformer.models._codec import to_dict

            return to_dict(self)
        return {name: _plain(value) for name in self.__struct_fields__ if (value := getattr(self, name)) is not None}

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        copied = copy.copy(self)
        for slot in _slots(type(self)):
            value = slot.__get__(self)
            if not isinstance(value, _IMMUTABLE):
                slot.__set__(copied, _copied(value))
        return copied


class LazyModel(Marked, Model):
    """A model with lazy fields: equal, shown and pickled by what it means, not by what is decoded already."""

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(
            _same(slot, name, self, other)
            for slot, name in zip(_slots(type(self)), self.__struct_fields__, strict=True)
        )

    __hash__ = None  # type: ignore[assignment]  # as for every Struct that can be changed

    def __repr__(self) -> str:
        shown = (f"{name}={text}" for name in self.__struct_fields__ if (text := _shown(self, name)) != "None")
        return f"{type(self).__name__}({', '.join(shown)})"


def _same(slot: MemberDescriptorType, name: str, one: Any, other: Any) -> bool:
    # The same bytes mean the same; different bytes may still.
    if slot.__get__(one) == slot.__get__(other):
        return True
    try:
        return bool(_looked_at(one, name) == _looked_at(other, name))
    except ObjectDecodeError:
        return False


def _looked_at(obj: Model, name: str) -> Any:
    """A field, which stays undecoded if it is so: who compares or shows objects of a cache does not make them grow."""
    field = type(obj).__lazy_fields__.get(name)
    return getattr(obj, name) if field is None else field.look(obj)


def _shown(obj: Model, name: str) -> str:
    try:
        return repr(_looked_at(obj, name))
    except ObjectDecodeError:
        return "<does not decode>"


@cache
def _slots(cls: type[Model]) -> tuple[MemberDescriptorType, ...]:
    """The slots of a class's fields, those of the classes before it included, past the properties before them."""
    return tuple(_slot(cls, name) for name in cls.__struct_fields__)


def _slot(cls: type[Model], name: str) -> MemberDescriptorType:
    for base in cls.__mro__:
        lazy = base.__dict__.get("__lazy_fields__", {}).get(name)
        if lazy is not None:
            return cast("MemberDescriptorType", lazy.slot)
        found = base.__dict__.get(name)
        if isinstance(found, MemberDescriptorType):
            return found
    raise TypeError(f"{cls.__qualname__} has no slot for its field {name}")


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
