"""The base class of models: kubernetes_asyncio's two class attributes, plain dicts, copies, and equality by meaning.

A model is a :class:`msgspec.Struct` with the fields of kubernetes_asyncio's class of the same name. Some of its fields
may be *lazy* (:mod:`kinformer.models._lazy`). Users of a model notice this only by the time that the first read takes.

Models are trees. They are not tracked by Python's cycle collector (``gc=False``). So a model that contains itself is
never freed.
"""

from __future__ import annotations

import copy
from datetime import date, datetime
from functools import cache
from types import MemberDescriptorType
from typing import Any, cast

import msgspec

from kinformer.models._encoding import MicroTime, to_dict
from kinformer.models._errors import ObjectDecodeError
from kinformer.models._lazy import Described, Marked
from kinformer.models._packed import json_of

__all__ = ("LazyModel", "Model", "keeping_micro_times", "looked_at")


def keeping_micro_times(attributes: frozenset[str]) -> dict[str, Any]:
    """
    The methods by which a model converts plain datetimes in these fields.

    msgspec encodes a plain datetime of a whole second without a fraction, which the API server refuses. That would
    happen once in a million writes.
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


class Model(Described, omit_defaults=True, gc=False):
    """
    The base class of all models.

    kubernetes_asyncio's API classes accept any model as a body, because they use only the two class attributes.
    """

    def to_dict(self, serialize: bool = False) -> dict[str, Any]:
        """
        The object as plain dicts, without fields that are None.

        :param serialize: with the names and forms of JSON, instead of the attributes' names
        """
        if serialize:
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
    """A model with lazy fields. It is compared, shown and pickled by its meaning, not by what is decoded already."""

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(
            _same(slot, name, self, other)
            for slot, name in zip(_slots(type(self)), self.__struct_fields__, strict=True)
        )

    # A Struct has a `!=` of its own, which does not ask `__eq__`.
    __ne__ = object.__ne__

    __hash__ = None  # type: ignore[assignment]  # as for every Struct that can be changed

    def __reduce__(self) -> Any:
        # The process that reads a pickle may not have the dictionary of a compressed part.
        plain = copy.copy(self)
        for field in type(self).__lazy_fields__.values():
            if type(part := field.peek(plain)) is msgspec.Raw and (json := json_of(part)) is not part:
                field.poke(plain, msgspec.Raw(json))
        return msgspec.Struct.__reduce__(plain)

    def __repr__(self) -> str:
        shown = (f"{name}={text}" for name in self.__struct_fields__ if (text := _shown(self, name)) != "None")
        return f"{type(self).__name__}({', '.join(shown)})"


def _same(slot: MemberDescriptorType, name: str, one: Any, other: Any) -> bool:
    # Equal bytes have the same meaning; different bytes may have it, too.
    if slot.__get__(one) == slot.__get__(other):
        return True
    try:
        return bool(looked_at(one, name) == looked_at(other, name))
    except ObjectDecodeError:
        return False


def looked_at(obj: Model, name: str) -> Any:
    """A field's value, without storing it: comparing and showing objects of a cache must not make them larger."""
    field = type(obj).__lazy_fields__.get(name)
    return getattr(obj, name) if field is None else field.look(obj)


def _shown(obj: Model, name: str) -> str:
    try:
        return repr(looked_at(obj, name))
    except ObjectDecodeError:
        return "<does not decode>"


@cache
def _slots(cls: type[Model]) -> tuple[MemberDescriptorType, ...]:
    """The slots of all fields of a class, including inherited ones, behind any :class:`LazyField`."""
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
