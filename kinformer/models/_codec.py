"""Bytes to objects and back, for models, users' own Structs and dicts alike.

Decoders are made once a type and kept. Unknown fields are skipped; what does not fit the type is one
:exc:`msgspec.ValidationError` that names the path.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeVar, cast

import msgspec

from kinformer.models._base import decode_hook, encode_hook

__all__ = ("decode", "decoder_for", "encode", "from_dict", "to_dict")

T = TypeVar("T")

_encoder = msgspec.json.Encoder(enc_hook=encode_hook)

#: An object as JSON bytes: what is None is left out, a field nobody has read is written as it came.
encode: Callable[[Any], bytes] = _encoder.encode


def decode(type_: type[T], data: bytes | str) -> T:
    """
    Read an object from JSON.

    :raises msgspec.DecodeError: if it is no JSON
    :raises msgspec.ValidationError: if it does not fit the type; the text names the path
    """
    return decoder_for(type_).decode(data)


def decoder_for(type_: type[T]) -> msgspec.json.Decoder[T]:
    """The decoder of a type, or of a Struct that has models among its fields; always the same one."""
    return cast("msgspec.json.Decoder[T]", _decoder_for(cast("Any", type_)))


@cache
def _decoder_for(type_: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(type_, dec_hook=decode_hook)


def from_dict(type_: type[T], value: Mapping[str, Any]) -> T:
    """
    Make an object from plain dicts under JSON's names, as YAML or :mod:`json` give them.

    :raises msgspec.ValidationError: if it does not fit the type; the text names the path
    """
    return decode(type_, encode(value))


def to_dict(obj: Any) -> dict[str, Any]:
    """An object as plain dicts under JSON's names, without what is None."""
    return cast("dict[str, Any]", msgspec.json.decode(encode(obj)))
