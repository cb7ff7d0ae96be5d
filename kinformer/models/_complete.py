"""Completion: decodes all lazy fields of an object that were not read yet, at any depth.

:func:`complete` changes the object. :func:`completed` does not change it, and returns another object if necessary.

By their types, most parts of a model cannot contain a lazy field. They are not examined. For a pod that was read, this
takes 3 us.
"""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable, Generator, Iterable
from functools import cache, partial
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from kinformer.models._errors import Fault, ObjectDecodeError, fault_of
from kinformer.models._lazy import Described, LazyField, named
from kinformer.models._lazy_dict import LazyDict
from kinformer.models._open import Joint, OpenStruct, is_open
from kinformer.models._source import Shape, model_names, parts_of_type, shape_of

__all__ = ("complete", "completed", "is_lazy", "leads_to_lazy", "unread")

T = TypeVar("T")

#: The types of the large parts of pods and nodes, which are lazy wherever they occur. Most code that reads a spec or
#: status reads the node, the phase, or one of these. They are four fifths of a decoded pod. With conditions and
#: tolerations among them, the first read of a pod's node and phase takes 5.6 us instead of 8.6; to read the conditions
#: as well takes 8.2 instead of 9.0, and to read everything 25.5 instead of 23.7.
_LARGE: Final = frozenset(
    {
        "V1Affinity",
        "list[V1Container]",
        "list[V1ContainerImage]",
        "list[V1ContainerStatus]",
        "list[V1EphemeralContainer]",
        "list[V1PodCondition]",
        "list[V1Toleration]",
        "list[V1Volume]",
    }
)


class _Plan(NamedTuple):
    """
    The fields of a type that are or may contain lazy fields.

    :param lazy: the type's own lazy fields, and of each whether its value may contain others
    :param others: functions that read the other fields that may contain lazy fields
    :param parts: of each of these fields the name, a function that reads its slot, and one that decodes its bytes; the
        latter is None for a field that is not lazy itself
    :param is_open: whether it is a top-level type that keeps unknown fields
    """

    lazy: tuple[tuple[LazyField, bool], ...]
    others: tuple[Callable[[Any], Any], ...]
    parts: tuple[tuple[str, Callable[[Any], Any], Callable[[Any, Any], Any] | None], ...] = ()
    is_open: bool = False


_NOTHING: Final = _Plan((), ())
_plans: Final[dict[type[Any], _Plan]] = {}


def complete(obj: T) -> T:
    """
    Decode every field that is still undecoded, in place, and return the object.

    After that, msgspec's own functions (``to_builtins``, ``structs.asdict``, ``yaml.encode``) can be used on the
    object. They do not recognize lazy fields. It may be called for an object of a cache, because it only reads.

    :raises ObjectDecodeError: if a field does not fit its type
    """
    if isinstance(obj, LazyDict):
        obj.read()
    walk = unread(obj)
    try:
        item, field = next(walk)
        while True:
            item, field = walk.send(field is not None and field.read_all(item))
    except StopIteration:
        return obj
    except ObjectDecodeError as error:
        fault = _fault_in(obj) or fault_of(error)
    raise ObjectDecodeError(named(obj), fault)


def completed(obj: T) -> T:
    """
    The object with all fields decoded: itself if it is so already, else another object that shares all other parts.

    :raises ObjectDecodeError: if a field does not fit its type
    """
    try:
        for _ in unread(obj):
            return _rebuilt(obj)  # type: ignore[no-any-return]  # of the same type
    except ObjectDecodeError as error:
        fault = _fault_in(obj) or fault_of(error)
    else:
        return obj
    raise ObjectDecodeError(named(obj), fault)


def unread(obj: Any) -> Generator[tuple[Any, LazyField | None], bool | None, None]:
    """
    The lazy fields that were not read yet. Each is examined again once it has been read, unless True is sent for it.

    A top-level object with unknown fields is among them, with None for the field: it must be rebuilt to be encoded.
    """
    stack: list[Any] = [obj]
    while stack:  # no recursion: what a user holds in dicts may be deep
        item = stack.pop()
        type_ = type(item)
        if type_ is dict or type_ is LazyDict:
            stack += dict.values(item)  # undecoded bytes in it cannot be a model, so they are written as they are
        elif type_ is list or type_ is tuple:
            stack += item
        elif (plan := _plans.get(type_) or _plan_of(type_)) is not _NOTHING:
            for field, is_deep in plan.lazy:
                value = field.peek(item)
                if type(value) is msgspec.Raw:
                    if (yield item, field):
                        continue
                    value = field.peek(item)
                if is_deep and value is not None:
                    stack.append(value)
            for read in plan.others:
                if (value := read(item)) is not None:
                    stack.append(value)
            if plan.is_open and item.extra:
                yield item, None


def _rebuilt(value: Any) -> Any:
    """The value with all lazy fields decoded: itself if there is none to decode, else a copy of what leads to them."""
    type_ = type(value)
    if type_ is dict or type_ is LazyDict:
        return {key: _rebuilt(item) for key, item in dict.items(value)}
    if type_ is list or type_ is tuple:
        items = [_rebuilt(item) for item in value]
        return value if all(map(operator.is_, items, value)) else type_(items)
    plan = _plans.get(type_) or _plan_of(type_)
    if plan is _NOTHING:
        return value
    if issubclass(type_, OpenStruct):
        return type_._of(_rebuilt(value._known), _rebuilt(value.extra))
    changes: dict[str, Any] = {}
    for name, read, decoded in plan.parts:
        part = read(value)
        if part is not None:
            now = decoded(value, part) if decoded is not None and type(part) is msgspec.Raw else part
            if (now := _rebuilt(now)) is not part:
                changes[name] = now
    if not changes and not plan.is_open:
        return value
    if type_.__struct_config__.frozen:
        return msgspec.structs.replace(value, **changes)
    made = copy.copy(value)
    for name, part in changes.items():
        setattr(made, name, part)
    if plan.is_open:
        extra, made.extra = made.extra, {}
        return Joint(made, extra)
    return made


def _fault_in(value: Any) -> Fault | None:
    """The first fault of lazy fields in a value, with its path from there; None if all of them decode."""
    parts: Iterable[tuple[str, Callable[[], Any]]] = ()
    match value:
        case dict():
            parts = [(f'["{key}"]', partial(dict.get, value, key)) for key in value]
        case list() | tuple():
            parts = [(f"[{number}]", partial(value.__getitem__, number)) for number in range(len(value))]
        case OpenStruct():
            parts = [("", lambda: value._known)]
        case msgspec.Struct():
            lazy = type(value).__lazy_fields__ if isinstance(value, Described) else {}
            json_names = dict(zip(value.__struct_fields__, value.__struct_encode_fields__, strict=True))
            parts = [
                (json_names[name], partial(lazy[name].look, value) if name in lazy else partial(getattr, value, name))
                for name in _carriers(type(value))
            ]
    for name, read in parts:
        try:
            fault = _fault_in(read())
        except ObjectDecodeError as error:
            return fault_of(error)  # of a lazy field: its path begins with the field's name
        if fault is not None:
            return fault.under(name)
    return None


def _plan_of(type_: type[Any]) -> _Plan:
    plan = _NOTHING
    if issubclass(type_, OpenStruct):
        plan = _Plan((), (operator.attrgetter("_known"), operator.attrgetter("extra")))
    elif issubclass(type_, msgspec.Struct) and (names := _carriers(type_)):
        lazy, types = (type_.__lazy_fields__, type_.openapi_types) if issubclass(type_, Described) else ({}, {})
        readers = {name: lazy[name].peek if name in lazy else operator.attrgetter(name) for name in names}
        plan = _Plan(
            tuple((lazy[name], leads_to_lazy(types[name])) for name in names if name in lazy),
            tuple(readers[name] for name in names if name not in lazy),
            tuple((name, read, lazy[name].decoded if name in lazy else None) for name, read in readers.items()),
            is_open(type_),
        )
    _plans[type_] = plan
    return plan


def is_lazy(attribute: str, type_: str, types: dict[str, str]) -> bool:
    """
    Whether a field is lazy.

    managedFields and the large parts of pods and nodes are so everywhere; in top-level kinds all fields but metadata
    and scalars are.
    """
    if attribute == "managed_fields" or type_ in _LARGE:
        return True
    top_level = "kind" in types and types.get("metadata") == "V1ObjectMeta"
    return top_level and attribute != "metadata" and type_ not in ("str", "int", "float", "bool", "object", "datetime")


@cache
def _carriers(type_: type[msgspec.Struct]) -> list[str]:
    """The attributes that are or may contain lazy fields."""
    known: dict[str, str] = type_.openapi_types if issubclass(type_, Described) else {}
    return [name for name in type_.__struct_fields__ if name not in known or _can_carry(known, name)]


def _can_carry(types: dict[str, str], attribute: str) -> bool:
    return is_lazy(attribute, types[attribute], types) or leads_to_lazy(types[attribute])


@cache
def leads_to_lazy(type_: str) -> bool:
    """Whether a value of a type may contain lazy fields, at any depth."""
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
