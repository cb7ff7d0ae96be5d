"""Decoding of models, users' own Structs and dicts.

A decoder is made once for each type. If data does not fit the type, there is one error that names the path.

*Unknown fields.* A typed object has only the fields of its type, as in client-go. Other fields are dropped when it is
decoded. So they are missing when it is encoded again, whether or not a field was read in between. If you need all
fields, use dicts, or change objects by patches.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar

import msgspec

from kinformer.models._build import make_decoder
from kinformer.models._complete import complete
from kinformer.models._encoding import ENCODER
from kinformer.models._errors import DECODE_ERRORS, Fault, ObjectDecodeError, fault_of
from kinformer.models._identity import identity_of
from kinformer.models._open import whole
from kinformer.models._unknown import unknown_fields

__all__ = ("decode", "decoder_for", "from_dict")

T = TypeVar("T")


def decode(type_: type[T], data: bytes | str, *, lazy: bool = False) -> T:
    """
    Decode an object from JSON completely: no field stays lazy.

    :param lazy: let fields stay lazy
    :raises msgspec.DecodeError: if it is not JSON
    :raises ObjectDecodeError: if it does not fit the type; the text names the path
    """
    try:
        decoded = decoder_for(type_).decode(data)
        return decoded if lazy or type_ is dict else complete(decoded)
    except DECODE_ERRORS as error:
        if type(error) in (msgspec.DecodeError, ObjectDecodeError):  # not JSON, or described already
            raise
        fault = fault_of(error)
    # Outside the except, because msgspec's error quotes values and must not be the context of this one.
    raise ObjectDecodeError(_described(type_, data), fault)


def decoder_for(type_: type[T]) -> msgspec.json.Decoder[T]:
    """
    The decoder of a type, or of a Struct with models among its fields. It is always the same one.

    The objects that it decodes have lazy fields: spec and status are the server's bytes until they are read.
    """
    return _decoder_for(type_)  # type: ignore[arg-type]  # typing.cast would be one call more


@cache
def _decoder_for(type_: Any) -> msgspec.json.Decoder[Any]:
    return make_decoder(whole(type_))


def from_dict(type_: type[T], value: Mapping[str, Any]) -> T:
    """
    Make an object from plain dicts with the names of JSON, as YAML or :mod:`json` give them.

    :raises ObjectDecodeError: if it does not fit the type, or has fields that the type does not know. The message names
        all of these
    """
    data = b""
    try:
        data = ENCODER.encode(value)
    except RecursionError:
        fault = Fault("", "it is nested too deeply")
    else:
        made = decode(type_, data)
        unknown = unknown_fields(type_, value)
        if not unknown:
            return made
        fault = Fault("", f"there {'are no fields' if len(unknown) > 1 else 'is no field'} {', '.join(unknown)}")
    raise ObjectDecodeError(_described(type_, data), fault)


def _described(type_: Any, data: bytes | str) -> str:
    """The object's name in errors: its identity if it has one, else the type."""
    return identity_of(data.encode() if isinstance(data, str) else data).described() or type_.__name__
