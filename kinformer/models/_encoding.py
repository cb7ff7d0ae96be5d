"""Encoding of models, users' own Structs and dicts, as JSON and as plain dicts."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final, cast

import msgspec

from kinformer.models._complete import completed
from kinformer.models._open import Joint, OpenStruct, joined

__all__ = ("ENCODER", "MicroTime", "encode", "encode_hook", "to_dict")


class MicroTime(datetime):
    """
    A time that the API requires with all six digits of its microseconds (in Lease and Event).

    A plain datetime that is assigned to such a field is converted to it.
    """


def encode_hook(value: Any) -> Any:
    """Called by msgspec for values that it cannot write."""
    if isinstance(value, MicroTime):
        return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    if isinstance(value, OpenStruct | Joint):
        return joined(value, ENCODER.encode)
    if hasattr(value, "openapi_types") and hasattr(value, "attribute_map"):  # a model of kubernetes_asyncio's own
        return {
            value.attribute_map[name]: part
            for name in value.openapi_types
            if (part := getattr(value, name)) is not None
        }
    raise NotImplementedError(f"an object of type {type(value).__qualname__} cannot be written as JSON")


#: Encodes whatever is complete: see :func:`~kinformer.models.complete`.
ENCODER: Final = msgspec.json.Encoder(enc_hook=encode_hook)


def encode(obj: Any) -> bytes:
    """
    Encode an object as JSON. Fields that are None, and fields that its type does not know, are left out.

    :raises ObjectDecodeError: if a field that was not read yet does not fit its type
    :raises ValueError: if the `extra` of an open Struct has a field that its class declares
    """
    return ENCODER.encode(completed(obj))


def to_dict(obj: Any) -> dict[str, Any]:
    """The object as plain dicts with the names of JSON, without fields that are None."""
    return cast("dict[str, Any]", msgspec.json.decode(encode(obj)))
