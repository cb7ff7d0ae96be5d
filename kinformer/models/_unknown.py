"""Unknown fields: finds fields of plain dicts that a type does not have, such as typing errors in YAML."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import msgspec

from kinformer.models._lazy import Described
from kinformer.models._open import OpenStruct, is_open

__all__ = ("fields_of", "has_structs", "held_by", "struct_in", "unknown_fields")


def unknown_fields(type_: Any, value: Any) -> list[str]:
    """
    The fields that are in `value` and not in `type_`, with a suggestion: ``spec.containrs (is it containers?)``.

    If a type does not declare fields (dicts, Any), or keeps unknown ones, all fields count as known.

    :param value: plain dicts and lists with the names of JSON: an object, a part of one, or a patch
    """
    return list(_unknown(type_, value, ""))


def _unknown(type_: Any, value: Any, path: str) -> Iterator[str]:
    if isinstance(value, Mapping):
        declared = struct_in(type_)
        if declared is not None:
            fields = fields_of(declared)
            for name, part in value.items():
                if name in fields:
                    yield from _unknown(fields[name], part, f"{path}.{name}" if path else name)
                elif (
                    not (issubclass(declared, OpenStruct) or is_open(declared))
                    and name != declared.__struct_config__.tag_field
                ):
                    near = difflib.get_close_matches(str(name), fields, n=1)
                    yield f"{path}.{name}".removeprefix(".") + (f" (is it {near[0]}?)" if near else "")
        elif (held := held_by(type_, dict)) is not None:
            for key, part in value.items():
                yield from _unknown(held, part, f'{path}["{key}"]')
    elif isinstance(value, Sequence) and not isinstance(value, str):
        held = held_by(type_, list)
        if held is not None:
            for number, part in enumerate(value):
                yield from _unknown(held, part, f"{path}[{number}]")


def _options(type_: Any) -> tuple[Any, ...]:
    origin = get_origin(type_)
    if origin is Annotated:
        return _options(get_args(type_)[0])
    if origin in (Union, UnionType):
        return tuple(option for part in get_args(type_) for option in _options(part))
    return (type_,)


def struct_in(type_: Any) -> Any:
    """The one Struct, perhaps an open one, that a value can have; None if there are several, or another type."""
    options = [option for option in _options(type_) if option is not type(None)]
    match options:
        case [type() as only] if issubclass(only, OpenStruct):
            return only
        case [type() as only] if issubclass(only, msgspec.Struct) and not only.__struct_config__.array_like:
            return only
    return None


def has_structs(type_: Any) -> bool:
    """Whether one of the types that a value can have is a Struct."""
    return any(isinstance(option, type) and issubclass(option, msgspec.Struct) for option in _options(type_))


def held_by(type_: Any, container: type) -> Any:
    """The type of the parts of a container: ``V1Pod`` for ``list[V1Pod] | None``; None if it is no such container."""
    for option in _options(type_):
        if get_origin(option) is container:
            return get_args(option)[-1]
    return None


@cache
def fields_of(type_: Any) -> dict[str, Any]:
    """The types of the fields of a Struct, or of an open one, by their names in JSON. Lazy fields are among them."""
    struct = type_.__known__ if issubclass(type_, OpenStruct) else type_
    found = {
        field.encode_name: field.type
        for field in msgspec.structs.fields(struct)
        if not (field.name == "extra" and is_open(struct))
    }
    if issubclass(struct, Described):
        for field in struct.__lazy_fields__.values():
            found[field.json_name] = field.type_of()
    return found
