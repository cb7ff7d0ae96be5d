"""Bytes to objects and back, for models, users' own Structs and dicts alike.

Decoders are made once a type and kept. Unknown fields are skipped; what does not fit the type is one
:exc:`msgspec.ValidationError` that names the path.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeVar, cast

import msgspec

from kinformer.models._base import Model, decode_hook, encode_hook

__all__ = ("decode", "decoder_for", "detacher_for", "encode", "from_dict", "interner_for", "successor_for", "to_dict")

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


def detacher_for(type_: type[T], *, keep_managed_fields: bool = False) -> Callable[[T], None]:
    """
    What to call on each decoded object of a type before it is kept for long.

    Fields that nobody has read are pieces of the bytes that the object came in: of one line of a watch, of a list of
    thousands. The returned function gives each such piece a memory of its own, and drops managedFields (which are
    often half of an object) unless they are to be kept. For what is no model of a top-level kind it does nothing.
    """
    return _detacher_for(cast("Any", type_), keep_managed_fields)


def interner_for(type_: type[T]) -> Callable[[T], None]:
    """
    What to call on objects of a type of which many are kept, so that strings that recur are held once.

    These are labels' values, namespaces, and the names and uids of owners: 0.5 KiB of a pod's 6. It takes some 2 us;
    for what replaces an object that is kept already, :func:`successor_for` does the same for less.
    """
    return _intern if _has_object_meta(type_) else _keep


def successor_for(type_: type[T], *, keep_managed_fields: bool = False) -> Callable[[T, T], None]:
    """
    What to call with an object that is kept and a decoded one that takes its place: :func:`detacher_for`, for less.

    What has not changed is taken over from the old object: the bytes of spec and status that nobody has read, labels,
    annotations, owners. Most of an object never changes, so most of it is neither copied nor let go. Neither object
    may be changed afterwards. For what is no model of a top-level kind it does nothing.
    """
    return _successor_for(cast("Any", type_), keep_managed_fields)


def _has_object_meta(type_: type[Any]) -> bool:
    return issubclass(type_, Model) and type_.openapi_types.get("metadata") == "V1ObjectMeta"


@cache
def _detacher_for(type_: type[Any], keep_managed_fields: bool) -> Callable[[Any], None]:
    if not _has_object_meta(type_):
        return _keep
    # Called for every event: what a LazyField would do for itself is written out.
    slots = tuple((field.peek, field.poke) for field in type_.__lazy_fields__.values())
    raw = msgspec.Raw

    def detach(obj: Any) -> None:
        for peek, poke in slots:
            value = peek(obj)
            if type(value) is raw:
                poke(obj, value.copy())
        meta = obj.metadata
        if meta is None:
            return
        managed = type(meta).__lazy_fields__["managed_fields"]
        if not keep_managed_fields:
            managed.poke(meta, None)
        elif type(value := managed.peek(meta)) is raw:
            managed.poke(meta, value.copy())

    return detach


@cache
def _successor_for(type_: type[Any], keep_managed_fields: bool) -> Callable[[Any, Any], None]:
    if not _has_object_meta(type_):
        return _share_nothing
    slots = tuple((field.peek, field.poke) for field in type_.__lazy_fields__.values())
    raw = msgspec.Raw

    def succeed(old: Any, new: Any) -> None:
        for peek, poke in slots:
            now = peek(new)
            if type(now) is raw:
                was = peek(old)
                poke(new, was if type(was) is raw and was == now else now.copy())
        after = new.metadata
        if after is None:
            return
        managed = type(after).__lazy_fields__["managed_fields"]
        if not keep_managed_fields:
            managed.poke(after, None)
        elif type(value := managed.peek(after)) is raw:
            managed.poke(after, value.copy())
        before = old.metadata
        if before is None:
            return
        if after.labels == before.labels:
            after.labels = before.labels
        if after.annotations == before.annotations:
            after.annotations = before.annotations
        if after.owner_references == before.owner_references:
            after.owner_references = before.owner_references

    return succeed


def _intern(obj: Any) -> None:
    meta = obj.metadata
    if meta is None:
        return
    intern = sys.intern
    if meta.namespace is not None:
        meta.namespace = intern(meta.namespace)
    if labels := meta.labels:
        for key in labels:
            labels[key] = intern(labels[key])
    for owner in meta.owner_references or ():
        if owner.uid is not None:
            owner.uid = intern(owner.uid)
        if owner.name is not None:
            owner.name = intern(owner.name)


def _keep(_: Any) -> None:
    """There is nothing in the object that this is about."""


def _share_nothing(_: Any, __: Any) -> None:
    """There is nothing in the objects that this is about."""
