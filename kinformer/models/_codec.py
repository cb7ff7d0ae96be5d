"""Bytes to objects and back, for models, users' own Structs and dicts alike.

Decoders are made once a type and kept. What does not fit the type is one error that names the path.

*Unknown fields.* A typed object has what its type has, as in client-go: fields that the type does not know are left out
when it is decoded, and so they are not in what it is encoded to, whether or not somebody has read a field in between.
Who needs them all uses dicts, or changes objects by patches.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar, cast

import msgspec

from kinformer.models._base import encode_hook
from kinformer.models._build import make_decoder
from kinformer.models._complete import complete, completed
from kinformer.models._errors import DECODE_ERRORS, Fault, ObjectDecodeError, fault_of
from kinformer.models._identity import identity_of
from kinformer.models._unknown import unknown_fields

__all__ = ("decode", "decoder_for", "encode", "from_dict", "to_dict")

T = TypeVar("T")

_encoder = msgspec.json.Encoder(enc_hook=encode_hook)


def encode(obj: Any) -> bytes:
    """
    An object as JSON bytes: what is None is left out, and so is what its type does not know.

    :raises ObjectDecodeError: if there is a field in it that nobody has read and that does not fit its type
    """
    return _encoder.encode(completed(obj))


def decode(type_: type[T], data: bytes | str) -> T:
    """
    Read an object from JSON, all of it: no field stays lazy.

    :raises msgspec.DecodeError: if it is no JSON
    :raises ObjectDecodeError: if it does not fit the type; the text names the path
    """
    try:
        return complete(decoder_for(type_).decode(data))
    except DECODE_ERRORS as error:
        if type(error) in (msgspec.DecodeError, ObjectDecodeError):  # the one about no object at all, the other done
            raise
        fault = fault_of(error)
    # Outside the except: what msgspec raises quotes values, and must not be this error's context.
    raise ObjectDecodeError(_described(type_, data), fault)


def decoder_for(type_: type[T]) -> msgspec.json.Decoder[T]:
    """
    The decoder of a type, or of a Struct that has models among its fields; always the same one.

    What it decodes has lazy fields: spec and status are the server's bytes until they are read.
    """
    return cast("msgspec.json.Decoder[T]", _decoder_for(cast("Any", type_)))


@cache
def _decoder_for(type_: Any) -> msgspec.json.Decoder[Any]:
    return make_decoder(type_)


def from_dict(type_: type[T], value: Mapping[str, Any]) -> T:
    """
    Make an object from plain dicts under JSON's names, as YAML or :mod:`json` give them.

    :raises ObjectDecodeError: if it does not fit the type, or has fields that the type does not know: the text names
        them all
    """
    data = b""
    try:
        data = _encoder.encode(value)
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
    """What an error calls it: the object where it says what it is, else the type."""
    return identity_of(data.encode() if isinstance(data, str) else data).described() or type_.__name__


def to_dict(obj: Any) -> dict[str, Any]:
    """An object as plain dicts under JSON's names, without what is None."""
    return cast("dict[str, Any]", msgspec.json.decode(encode(obj)))
