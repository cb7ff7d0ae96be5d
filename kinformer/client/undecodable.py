"""Undecodable objects: finds them in a list or watch, and names them without quoting them.

A list, or a read of a watch, is decoded in one call. If that fails, this module decodes the objects one by one, and
finds the ones that fail. This is slow, and runs only for the bytes around such an object. JSON that is nested too
deeply for the decoder (Kubernetes allows 10,000 levels) is split by its brackets, which costs no more than its size.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar, cast, get_args

import msgspec

from kinformer.client.errors import DecodeError
from kinformer.client.status import Status, decode_status
from kinformer.client.types import (
    BOOKMARK,
    ERROR,
    EventType,
    PartialMeta,
    PartialObject,
    Undecodable,
    WatchEvent,
)
from kinformer.models import DECODE_ERRORS, ObjectDecodeError, fault_of, identity_of, items_of, members_of

__all__ = ("decode_each", "decode_event", "split_items", "split_list")

T = TypeVar("T")

_EVENT_TYPES: Final = frozenset(get_args(EventType))


class _RawEvent(msgspec.Struct):
    type: str
    object: msgspec.Raw


class _RawList(msgspec.Struct):
    metadata: msgspec.Raw = msgspec.Raw(b"{}")
    items: list[msgspec.Raw] | None = None


_raw_event: Final = msgspec.json.Decoder(_RawEvent)
_raw_list: Final = msgspec.json.Decoder(_RawList)
_raw_items: Final = msgspec.json.Decoder(list[msgspec.Raw])
_partial: Final = msgspec.json.Decoder(PartialObject)
_text: Final = msgspec.json.Decoder(str)

_Raw = bytes | msgspec.Raw


def split_items(data: bytes) -> list[Any]:
    """
    The items of a JSON array, each as its JSON.

    :raises ValueError: if the bytes are no array, for example because they were cut in the middle of an item
    """
    try:
        return _raw_items.decode(data)
    except RecursionError:
        return items_of(data)


def split_list(data: bytes) -> tuple[_Raw, list[Any]]:
    """
    The metadata and the items of a list, each as its JSON.

    :raises ValueError: if the bytes are no list
    """
    try:
        found = _raw_list.decode(data)
    except RecursionError:
        members = dict(members_of(data))
        items = members.get("items", b"null")
        return members.get("metadata", b"{}"), [] if items == b"null" else items_of(items)
    return found.metadata, found.items or []


def decode_each(items: list[Any], decode: Callable[[Any], T], kind: str) -> tuple[list[T], list[Undecodable]]:
    """
    Decode each item. Return the objects, and what is known of those that do not decode.

    :param kind: the kind of items that do not name theirs
    """
    decoded: list[T] = []
    left_out: list[Undecodable] = []
    for item in items:
        try:
            decoded.append(decode(item))
        except Exception as error:  # a user's hooks may raise anything
            left_out.append(_undecodable(item, error, kind))
    return decoded, left_out


def decode_event(
    line: bytes, decode: Callable[[Any], T], kind: str
) -> WatchEvent[T | Undecodable | PartialObject] | Status | DecodeError:
    """
    Decode a line of a watch that does not decode as an event of the requested type.

    :param decode: decodes an object of that type
    :return: an event with its object, or with what is known of it; the Status of an ERROR; an error if the line is
        no event
    """
    try:
        type_, raw = _split_event(line)
    except (msgspec.MsgspecError, ValueError) as error:
        return _no_event(line, str(fault_of(error)))
    if type_ == ERROR:
        return decode_status(raw)
    if type_ == BOOKMARK:
        return WatchEvent(BOOKMARK, _decode_bookmark(raw, decode))
    if type_ not in _EVENT_TYPES:
        return _no_event(line, "its type is not one of a watch event")
    decoded, left_out = decode_each([raw], decode, kind)
    if left_out and not left_out[0].metadata.name:
        return _no_event(line, f"an object without a name, {left_out[0].error}")
    return WatchEvent(cast("EventType", type_), (decoded or left_out)[0])


def _split_event(line: bytes) -> tuple[str, _Raw]:
    try:
        found = _raw_event.decode(line)
    except RecursionError:
        members = dict(members_of(line))
        return _text.decode(members.get("type", b"null")), members.get("object", b"null")
    return found.type, found.object


def _no_event(line: bytes, why: str) -> DecodeError:
    return DecodeError(f"unable to decode an event from the watch stream: {why} ({len(line)} bytes)")


def _decode_bookmark(raw: _Raw, decode: Callable[[Any], T]) -> T | PartialObject:
    try:
        return decode(raw)
    except Exception:  # of a type with fields that a bookmark does not have
        pass
    try:
        return _partial.decode(raw)
    except DECODE_ERRORS:
        found = identity_of(raw)
    return PartialObject(PartialMeta(found.name, found.namespace, found.resource_version), kind=found.kind)


def _undecodable(raw: _Raw, error: Exception, kind: str) -> Undecodable:
    found = identity_of(raw)
    meta = PartialMeta(found.name, found.namespace, found.resource_version)
    return Undecodable(meta, found.kind or kind, ObjectDecodeError(found.described(kind), fault_of(error)))
