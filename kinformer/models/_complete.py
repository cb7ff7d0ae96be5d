"""Decoding what is left of an object: all lazy fields that nobody has read, in it and in whatever it holds.

:func:`complete` does it to the object, :func:`completed` leaves the object as it is and gives another one if need be.

Most parts of a model can hold no lazy field, by its types; they are not looked at. Of a pod that has been read, looking
takes 3 us.
"""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from kinformer.models._base import Model
from kinformer.models._lazy import LazyField
from kinformer.models._lazy_dict import LazyDict
from kinformer.models._source import Shape, model_names, parts_of_type, shape_of

__all__ = ("complete", "completed", "is_lazy")

T = TypeVar("T")


class _Plan(NamedTuple):
    """
    Where lazy fields can be in objects of a type.

    :param lazy: the type's own
    :param others: read the fields that can hold some
    """

    lazy: tuple[LazyField, ...]
    others: tuple[Callable[[Any], Any], ...]


_NOTHING: Final = _Plan((), ())
_plans: Final[dict[type[Any], _Plan]] = {}


def complete(obj: T) -> T:
    """
    Decode every field that is still the server's bytes, in place, and return the object.

    After it msgspec's own functions (``to_builtins``, ``structs.asdict``, ``yaml.encode``) can be used on the object:
    they do not see that a field is lazy. It may be called for an object of a cache: it only reads.

    :raises ObjectDecodeError: if a field does not fit its type
    """
    if isinstance(obj, LazyDict):
        obj.read()
    for item, field in _unread(obj):
        field.read(item)
    return obj


def completed(obj: T) -> T:
    """
    The same object decoded through and through: itself if it is so already, else one that shares all other parts.

    :raises ObjectDecodeError: if a field does not fit its type
    """
    for _ in _unread(obj):
        return _rebuilt(obj)  # type: ignore[no-any-return]  # of the same type
    return obj


def _unread(obj: Any) -> Iterator[tuple[Any, LazyField]]:
    """The lazy fields that nobody has read; each is looked into once it has been read."""
    stack: list[Any] = [obj]
    while stack:  # no recursion: what a user holds in dicts may be deep
        item = stack.pop()
        type_ = type(item)
        if type_ is dict or type_ is LazyDict:
            stack += dict.values(item)  # bytes in it are written as they are: they can be no model
        elif type_ is list or type_ is tuple:
            stack += item
        elif (plan := _plans.get(type_) or _plan_of(type_)) is not _NOTHING:
            for field in plan.lazy:
                value = field.peek(item)
                if type(value) is msgspec.Raw:
                    yield item, field
                    value = field.peek(item)
                if value is not None:
                    stack.append(value)
            for read in plan.others:
                if (value := read(item)) is not None:
                    stack.append(value)


def _rebuilt(value: Any) -> Any:
    type_ = type(value)
    if type_ is dict or type_ is LazyDict:
        return {key: _rebuilt(item) for key, item in dict.items(value)}
    if type_ is list:
        return [_rebuilt(item) for item in value]
    if type_ is tuple:
        return tuple([_rebuilt(item) for item in value])
    if _plan_of(type_) is _NOTHING:
        return value
    lazy = type_.__lazy_fields__ if issubclass(type_, Model) else {}
    changes = {
        name: _rebuilt(lazy[name].look(value) if name in lazy else getattr(value, name)) for name in _carriers(type_)
    }
    if type_.__struct_config__.frozen:
        return msgspec.structs.replace(value, **changes)
    made = copy.copy(value)
    for name, part in changes.items():
        setattr(made, name, part)
    return made


def _plan_of(type_: type[Any]) -> _Plan:
    plan = _NOTHING
    if issubclass(type_, msgspec.Struct) and (names := _carriers(type_)):
        lazy = type_.__lazy_fields__ if issubclass(type_, Model) else {}
        plan = _Plan(
            tuple(lazy[name] for name in names if name in lazy),
            tuple(operator.attrgetter(name) for name in names if name not in lazy),
        )
    _plans[type_] = plan
    return plan


def is_lazy(attribute: str, type_: str, types: dict[str, str]) -> bool:
    """managedFields wherever they are, and whatever a top-level kind has beyond its metadata and plain values."""
    if attribute == "managed_fields":
        return True
    top_level = "kind" in types and types.get("metadata") == "V1ObjectMeta"
    return top_level and attribute != "metadata" and type_ not in ("str", "int", "float", "bool", "object", "datetime")


def _carriers(type_: type[msgspec.Struct]) -> list[str]:
    """The attributes that are, or can hold, lazy fields."""
    known: dict[str, str] = type_.openapi_types if issubclass(type_, Model) else {}
    return [name for name in type_.__struct_fields__ if name not in known or _can_carry(known, name)]


def _can_carry(types: dict[str, str], attribute: str) -> bool:
    return is_lazy(attribute, types[attribute], types) or _leads_to_lazy(types[attribute])


@cache
def _leads_to_lazy(type_: str) -> bool:
    seen: set[str] = set()
    stack = [type_]
    while stack:
        for part in parts_of_type(stack.pop()):
            if part in seen or part not in model_names():
                continue
            seen.add(part)
            shape: Shape = shape_of(part)
            if any(is_lazy(attribute, held, shape.types) for attribute, held in shape.types.items()):
                return True
            stack += shape.types.values()
    return False
