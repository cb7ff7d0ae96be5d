"""Unknown fields: finds fields of plain dicts that a type does not have, such as typing errors in YAML."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from types import UnionType
from typing import Any, Union, get_args, get_origin

import msgspec

from kinformer.models._lazy import Described
from kinformer.models._open import OpenStruct

__all__ = ("unknown_fields",)


def unknown_fields(type_: Any, value: Any) -> list[str]:
    """
    The fields that are in `value` and not in `type_`, with a suggestion: ``spec.containrs (is it containers?)``.

    If a type does not declare fields (dicts, Any), or keeps unknown ones, all fields count as known.

    :param value: plain dicts and lists with the names of JSON: an object, a part of one, or a patch
    """
    return list(_unknown(type_, value, ""))


def _unknown(type_: Any, value: Any, path: str) -> Iterator[str]:
    if isinstance(value, Mapping):
        declared = _struct_in(type_)
        if declared is not None:
            is_open = issubclass(declared, OpenStruct)
            struct: type[msgspec.Struct] = declared.__known__ if is_open else declared
            fields = _fields_of(struct)
            for name, part in value.items():
                if name in fields:
                    yield from _unknown(fields[name], part, f"{path}.{name}" if path else name)
                elif not is_open and name != struct.__struct_config__.tag_field:
                    near = difflib.get_close_matches(str(name), fields, n=1)
                    yield f"{path}.{name}".removeprefix(".") + (f" (is it {near[0]}?)" if near else "")
        elif (held := _held_by(type_, dict)) is not None:
            for key, part in value.items():
                yield from _unknown(held, part, f'{path}["{key}"]')
    elif isinstance(value, Sequence) and not isinstance(value, str):
        held = _held_by(type_, list)
        if held is not None:
            for number, part in enumerate(value):
                yield from _unknown(held, part, f"{path}[{number}]")


def _options(type_: Any) -> tuple[Any, ...]:
    return get_args(type_) if get_origin(type_) in (Union, UnionType) else (type_,)


def _struct_in(type_: Any) -> Any:
    """The one Struct, perhaps an open one, that a value can have; None if there are several, or another type."""
    options = [option for option in _options(type_) if option is not type(None)]
    match options:
        case [type() as only] if issubclass(only, OpenStruct):
            return only
        case [type() as only] if issubclass(only, msgspec.Struct) and not only.__struct_config__.array_like:
            return only
    return None


def _held_by(type_: Any, container: type) -> Any:
    for option in _options(type_):
        if get_origin(option) is container:
            return get_args(option)[-1]
    return None


@cache
def _fields_of(struct: type[msgspec.Struct]) -> dict[str, Any]:
    """The types of a Struct's fields by their names in JSON, including lazy fields."""
    found = {field.encode_name: field.type for field in msgspec.structs.fields(struct)}
    if issubclass(struct, Described):
        for field in struct.__lazy_fields__.values():
            found[field.json_name] = field.type_of()
    return found
