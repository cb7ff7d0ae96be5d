"""Reading a few fields of a spec or status without decoding all of it.

An object keeps its spec and status as the server's bytes until they are first read. The first read of ``pod.spec``
decodes the spec, and the object keeps the result. The large parts in it, such as the containers, stay bytes until they
are read themselves. That is right for code that reads many fields or reads them often. It costs several times the work
and memory for code that needs each pod's ports or claims once. :func:`partly` makes a reader for such code: it returns
a Struct with only the fields that are needed, under the same names. The object is not changed.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, get_type_hints

import msgspec

from kinformer.models import Model, json_of

__all__ = ("partly",)


def partly(
    model: type[Model],
    attribute: str,
    fields: type[Any],
    converter: Callable[[Any], Callable[[Any], Any]] | None = None,
) -> Callable[[Any], Any]:
    """
    Make a function that reads an attribute of a model's objects.

    The value that it returns must not be changed or kept, because it may belong to the object. The function raises
    msgspec.ValidationError if the bytes do not fit `fields`.

    :param fields: a Struct with the fields that are needed, under the model's names for them; other fields are skipped
    :param converter: returns, for the type of a field, a function that makes a value of this type from a decoded part.
        None: parts are taken as they are
    """
    lazy = model.__lazy_fields__.get(attribute)
    if lazy is None:
        return attrgetter(attribute)
    peek, decode, raw = lazy.peek, msgspec.json.Decoder(fields).decode, msgspec.Raw
    of_decoded: Callable[[Any], Any] | None = None

    def read(obj: Any) -> Any:
        nonlocal of_decoded
        value = peek(obj)
        if type(value) is raw:
            return decode(json_of(value))
        if value is None:
            return None
        if of_decoded is None:
            of_decoded = _of_decoded(type(value), fields, converter)
        return of_decoded(value)

    return read


def _of_decoded(
    part: type[Any], fields: type[Any], converter: Callable[[Any], Callable[[Any], Any]] | None
) -> Callable[[Any], Any]:
    """Make the function that reads the fields of a decoded part, and leaves its own lazy fields undecoded."""
    types, raw, lazy = get_type_hints(fields), msgspec.Raw, part.__lazy_fields__
    if converter is None and lazy.keys().isdisjoint(fields.__struct_fields__):
        return _itself
    steps = tuple(
        (
            lazy[name].peek if name in lazy else attrgetter(name),
            msgspec.json.Decoder(types[name]).decode,
            converter(types[name]) if converter is not None else _itself,
        )
        for name in fields.__struct_fields__
    )

    def read(value: Any) -> Any:
        found = []
        for peek, decode, convert in steps:
            one = peek(value)
            if type(one) is raw:
                one = decode(json_of(one))
            elif one is not None:
                one = convert(one)
            found.append(one)
        return fields(*found)

    return read


def _itself(value: Any) -> Any:
    return value
