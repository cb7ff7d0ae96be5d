"""Kept form: many objects of one type as bytes that are decoded fast, for a file that a later process reads.

Models are kept as MessagePack, with unread parts as binaries. So these parts are neither decoded nor searched for
their end: a pod of 4 KB takes 2.5 us instead of 8. Dicts and users' Structs are kept as JSON.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final, Generic, NamedTuple, TypeVar, cast

import msgspec

from kinformer.models._base import Model
from kinformer.models._build import decode_hook, exclusively
from kinformer.models._complete import completed
from kinformer.models._decoding import decoder_for
from kinformer.models._encoding import ENCODER, encode_hook
from kinformer.models._keeping import has_object_meta, interner_for, own_parts_for
from kinformer.models._lazy import LazyField
from kinformer.models._lazy_dict import Parts, lazy_dict
from kinformer.models._open import whole
from kinformer.models._packed import packed

__all__ = ("KeptForm", "kept_form_of")

T = TypeVar("T")

_encode: Final = msgspec.msgpack.Encoder(enc_hook=encode_hook).encode
_binaries: Final = msgspec.msgpack.Decoder(list[bytes]).decode


class KeptForm(NamedTuple, Generic[T]):
    """
    How objects of a type are kept.

    :param encode: makes bytes of objects, in any thread. It raises TypeError or ValueError for objects that cannot be
        written, and ObjectDecodeError for one with a part that does not fit its type
    :param decode: makes objects of such bytes. Their unread parts refer to the bytes. It raises one of
        :data:`~kinformer.models.DECODE_ERRORS` for other bytes
    :param settle: gives one object bytes of its own, and shares its recurring strings. Readers may have the object
        already
    """

    encode: Callable[[Sequence[T]], bytes]
    decode: Callable[[bytes | memoryview], list[T]]
    settle: Callable[[T], None]


@cache
def _form_of(type_: Any) -> KeptForm[Any]:
    if type_ is dict:
        return KeptForm(_encode_dicts, _decode_dicts, _leave)
    if issubclass(type_, Model) and has_object_meta(type_):
        return _form_of_model(type_)
    read: Any = whole(type_)
    items: msgspec.json.Decoder[Any] = decoder_for(list[read])
    return KeptForm(_encode_others, items.decode, interner_for(type_))


def kept_form_of(type_: type[T]) -> KeptForm[T]:
    """How objects of a type are kept: a model, a Struct, or dict."""
    return _form_of(cast("Any", type_))


def _form_of_model(type_: type[Model]) -> KeptForm[Any]:
    fields = tuple(type_.__lazy_fields__.values())
    with exclusively():
        # The type is known only at run time.
        decode = msgspec.msgpack.Decoder(list[type_], dec_hook=decode_hook).decode  # type: ignore[valid-type]  # see above
    own, intern = own_parts_for(type_), interner_for(type_)

    def encode(objects: Sequence[Any]) -> bytes:
        return _encode([_twin(obj, fields) for obj in objects])

    def settle(obj: Any) -> None:
        own(obj)
        intern(obj)

    return KeptForm(encode, decode, settle)


def _twin(obj: Any, fields: Sequence[LazyField]) -> Any:
    """A copy whose lazy fields are packed."""
    twin = copy.copy(obj)
    for field in fields:
        _pack(field, obj, twin)
    meta = obj.metadata
    if meta is not None:
        managed = type(meta).__lazy_fields__["managed_fields"]
        if managed.peek(meta) is not None:
            twin.metadata = copy.copy(meta)
            _pack(managed, meta, twin.metadata)
    return twin


def _pack(field: LazyField, obj: Any, twin: Any) -> None:
    value = field.peek(obj)
    if value is not None:
        field.poke(twin, packed(value if type(value) is msgspec.Raw else ENCODER.encode(completed(value))))


def _encode_dicts(objects: Sequence[Any]) -> bytes:
    return _encode([ENCODER.encode(obj) for obj in objects])


def _decode_dicts(data: bytes | memoryview) -> list[Any]:
    decode = decoder_for(Parts).decode
    return [lazy_dict(decode(one)) for one in _binaries(data)]


def _encode_others(objects: Sequence[Any]) -> bytes:
    return ENCODER.encode([completed(obj) for obj in objects])


def _leave(_: Any) -> None:
    """Do nothing: each dict has bytes of its own."""
