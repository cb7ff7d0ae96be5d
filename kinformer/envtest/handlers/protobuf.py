"""Protobuf bodies: decode the objects that kubectl and Go clients send into the form that they have in JSON.

``protobuf.txt`` has the numbers of the fields. Their names and types come from kubernetes_asyncio's metadata, and
details of types from ``registry/forms.txt``. The table is read, and a type compiled, when it is first needed.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, Final

from kinformer.envtest.datafiles import read_table
from kinformer.envtest.jsontext import decode
from kinformer.envtest.registry.schema import forms_of
from kinformer.meta.names import GroupVersion, GroupVersionKind
from kinformer.models._resources import model_name_of
from kinformer.models._source import CONTAINER, model_names, shape_of

__all__ = ("BadProtobuf", "read_protobuf")

Obj = dict[str, Any]
#: Reads a value: an integer, or the bytes of anything else.
Read = Callable[[Any], Any]
#: The numbers of a message's fields: the field's name, or the numbers within a message whose fields are the object's.
Numbers = dict[int, "str | Numbers"]

_PREFIX: Final = b"k8s\x00"
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class BadProtobuf(ValueError):
    """A body is not a protobuf message of Kubernetes."""


def read_protobuf(body: bytes, others: Mapping[str, str]) -> Obj:
    """
    Decode an object. Unknown fields are left out, as in Kubernetes.

    :param others: the types of kinds that are not resources, such as Scale
    :raises BadProtobuf: if it cannot be decoded
    :raises LookupError: if its kind has no protobuf, such as a custom resource
    """
    if not body.startswith(_PREFIX):
        prefix = " ".join(map(str, _PREFIX))
        raise BadProtobuf(f"provided data does not appear to be a protobuf message, expected prefix [{prefix}]")
    try:
        unknown = dict(_fields(body[len(_PREFIX) :]))
        head = {number: value.decode() for number, value in _fields(unknown.get(1, b""))}
        api_version, kind = head.get(1, ""), head.get(2, "")
        if not kind:
            raise ValueError("Object 'Kind' is missing")
        model = others.get(kind) or model_name_of(GroupVersionKind(*GroupVersion.parse(api_version), kind))
        return {"apiVersion": api_version, "kind": kind, **_message(model)(unknown.get(2, b""))}
    except (AttributeError, IndexError, OverflowError, TypeError, ValueError, struct.error) as error:
        raise BadProtobuf(f"the data is no protobuf message: {error}") from None


def _fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """The numbers and values of a message's fields, in their order."""
    at, end = 0, len(data)
    while at < end:
        tag, at = _varint(data, at)
        number, wire = tag >> 3, tag & 7
        if wire == _VARINT:
            value, at = _varint(data, at)
            yield number, value
            continue
        if wire == _BYTES:
            length, at = _varint(data, at)
        elif wire in (_FIXED64, _FIXED32):
            length = 8 if wire == _FIXED64 else 4
        else:
            raise ValueError(f"wire type {wire}")
        if at + length > end:
            raise ValueError("unexpected EOF")
        yield number, data[at : at + length]
        at += length


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number, with the position after it."""
    value = shift = 0
    while shift < 64:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise ValueError("integer overflow")


@cache
def _numbers() -> dict[str, Numbers]:
    tables: dict[str, Numbers] = {}
    for model, *fields in read_table(__package__, "protobuf.txt"):
        table = tables[model] = {}
        for field in fields:
            name, _, path = field.partition(":")
            *outer, last = map(int, path.split("."))
            place: Any = table
            for number in outer:
                place = place.setdefault(number, {})
            place[last] = name
    return tables


class _Message:
    """Reads the messages of one type. Its fields are compiled when the first one is read."""

    def __init__(self, model: str):
        self._model = model
        self._numbers = _numbers()[model]
        self._readers: dict[str, tuple[str, Read]] = {}

    def __call__(self, data: bytes) -> Obj:
        if not self._readers:
            shape, forms = shape_of(self._model), forms_of(self._model)
            for attribute, type_ in shape.types.items():
                name = shape.json_names[attribute]
                found = CONTAINER.fullmatch(type_)
                holds = "" if found is None else "list" if found["item"] else "map"
                item = type_ if found is None else found["item"] or found["value"]
                read = _reader(item, forms.get(name, ""))
                self._readers[name] = holds, _entry(read, item) if holds == "map" else read
        return self._read(data, self._numbers, {})

    def _read(self, data: bytes, numbers: Numbers, obj: Obj) -> Obj:
        for number, value in _fields(data):
            name = numbers.get(number)
            if isinstance(name, dict):
                self._read(value, name, obj)
            elif name in self._readers:
                holds, read = self._readers[name]
                if holds == "list":
                    obj.setdefault(name, []).append(read(value))
                elif holds == "map":
                    obj.setdefault(name, {}).update(read(value))
                else:
                    obj[name] = read(value)
        return obj


_message = cache(_Message)


def _reader(type_: str, form: str) -> Read:
    """
    The reader of a type's values.

    :param type_: in kubernetes_asyncio's notation
    :param form: the marks of the field in ``forms.txt``
    """
    for mark, read in _MARKED.items():
        if mark in form:
            return read
    if type_ in model_names():
        return _message(type_)
    if type_.startswith("list["):  # the only value of a map that is a list has a message of its own
        return lambda data: [value.decode() for number, value in _fields(data) if number == 1]
    return _PLAIN[type_]


def _entry(read: Read, type_: str) -> Read:
    """The reader of a map's entries."""
    zero = 0 if type_ in ("int", "bool") else b""

    def read_entry(data: bytes) -> Obj:
        entry = dict(_fields(data))
        return {entry.get(1, b"").decode(): read(entry.get(2, zero))}

    return read_entry


def _integer(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def _only(data: bytes) -> bytes:
    """The value of a message that has one field."""
    value: bytes = dict(_fields(data)).get(1, b"")
    return value


def _number_or_text(data: bytes) -> int | str:
    fields = dict(_fields(data))
    text: bytes = fields.get(3, b"")
    return text.decode() if fields.get(1) else _integer(fields.get(2, 0))


def _time(data: bytes, form: str = "seconds") -> str | None:
    if not data:
        return None
    fields = dict(_fields(data))
    time = _EPOCH + timedelta(seconds=_integer(fields.get(1, 0)), microseconds=fields.get(2, 0) // 1000)
    return time.replace(tzinfo=None).isoformat(timespec=form) + "Z"


def _any(data: bytes) -> Any:
    return decode(raw) if (raw := _only(data)) else None


def _schema(data: bytes) -> Any:
    fields = dict(_fields(data))
    found = fields.get(2, fields.get(1))
    return _message("V1JSONSchemaProps")(found) if isinstance(found, bytes) else bool(found)


#: By the mark of a field; see ``registry/forms.txt``.
_MARKED: Final[dict[str, Read]] = {
    "q": lambda data: _only(data).decode(),
    "b": lambda data: base64.b64encode(data).decode(),
    "i": _number_or_text,
    "u": lambda data: _time(data, "microseconds"),
    "r": _any,
    "s": _schema,
}
_PLAIN: Final[dict[str, Read]] = {
    "str": lambda data: data.decode(),
    "int": _integer,
    "float": lambda data: struct.unpack("<d", data)[0],
    "bool": bool,
    "datetime": _time,
    "object": lambda data: _any(data) or {},
}
