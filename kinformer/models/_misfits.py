"""Misfits: finds values of plain dicts that are not of the type of their field, such as a text for a number."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from kinformer.models._decoding import decoder_for
from kinformer.models._encoding import ENCODER, encode
from kinformer.models._errors import DECODE_ERRORS, Fault, fault_of
from kinformer.models._semantic import QUANTITIES
from kinformer.models._unknown import fields_of, has_structs, held_by, struct_in

__all__ = ("misfits",)


def misfits(type_: Any, value: Any) -> list[Fault]:
    """
    The values in a merge patch that do not fit their fields.

    A missing field is no error, because a patch has only some fields. None fits every field: it removes the field.

    :param value: plain dicts with the names of JSON, perhaps with models in them
    """
    return list(_misfits(type_, msgspec.json.decode(encode(value)), ""))


def _misfits(type_: Any, value: Any, path: str) -> Iterator[Fault]:
    if value is None:
        return
    struct = struct_in(type_)
    if isinstance(value, dict) and struct is not None:
        fields = fields_of(struct)
        quantities = _quantities(struct)
        for name, part in value.items():
            # A quantity may be a number, too, although the models say that it is a text.
            if name in fields and name not in quantities:
                yield from _misfits(fields[name], part, f"{path}.{name}".removeprefix("."))
    elif isinstance(value, dict) and (held := held_by(type_, dict)) is not None:
        for key, part in value.items():
            yield from _misfits(held, part, f'{path}["{key}"]')
    elif isinstance(value, list) and (held := held_by(type_, list)) is not None:
        for number, part in enumerate(value):
            yield from _misfits(held, part, f"{path}[{number}]")
    elif not (isinstance(value, dict) and has_structs(type_)):  # a part of one of several Structs fits none of them
        try:
            decoder_for(type_).decode(ENCODER.encode(value))
        except DECODE_ERRORS as error:
            yield fault_of(error).under(path)


def _quantities(struct: Any) -> set[str]:
    attributes = QUANTITIES.get(struct.__name__, ())
    return {struct.attribute_map[name] for name in attributes} if attributes else set()
