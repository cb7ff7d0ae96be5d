"""Types for the type checker, made from schemas, and conversion of JSON values to these types.

An object with known fields is declared as a protobuf message, because the type checker has no other types with fields.
Only the type checker uses the messages. The values are plain maps and lists.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from kinformer.expressions.packages import load_cel, load_protobuf

__all__ = ("OPAQUE", "RESERVED", "Types", "escape", "to_cel")

Schema = Mapping[str, Any]

#: Kubernetes' own types. They have functions and no fields.
OPAQUE = (
    "Authorizer",
    "CIDR",
    "Decision",
    "GroupCheck",
    "IP",
    "NamedFormat",
    "PathCheck",
    "Quantity",
    "ResourceCheck",
    "Semver",
    "URL",
)

#: Reserved words of the language. They cannot be names.
RESERVED = frozenset(
    (
        *("as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let"),
        *("loop", "namespace", "null", "package", "return", "true", "var", "void", "while"),
    )
)
_ESCAPES = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_is_escapable = re.compile(r"[a-zA-Z_./-][a-zA-Z0-9_./-]*", re.ASCII).fullmatch
_OF_ANY_OBJECT: Schema = {
    "kind": {"type": "string"},
    "apiVersion": {"type": "string"},
    "metadata": {"type": "object", "properties": {"name": {"type": "string"}, "generateName": {"type": "string"}}},
}
_DURATION = re.compile(r"([+-]?)((?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|ms|s|m|h))+", re.ASCII)
_DURATION_PARTS = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)", re.ASCII)
_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


@cache
def escape(name: str) -> str | None:
    """A field's name in expressions. None if expressions cannot use the field."""
    if not _is_escapable(name):
        return None
    if name in RESERVED:
        return f"__{name}__"
    return re.sub(r"__|[-./]", lambda found: _ESCAPES[found[0]], name)


def _spellings(name: str) -> tuple[str, ...]:
    """The names that expressions can have for a field. A reserved word is one of them, after a dot."""
    escaped = escape(name)
    if escaped is None:
        return ()
    return (escaped, name) if name in RESERVED else (escaped,)


def _rooted(schema: Schema) -> Schema:
    """The schema of a whole resource. It always has kind, apiVersion, and the two names in the metadata."""
    properties = schema.get("properties") or {}
    metadata = properties.get("metadata") or {}
    texts = (
        *(properties.get(name) for name in ("kind", "apiVersion")),
        *((metadata.get("properties") or {}).get(name) for name in ("name", "generateName")),
    )
    if metadata.get("type") == "object" and all(text is not None and text.get("type") == "string" for text in texts):
        return schema
    return {**schema, "properties": {**(schema.get("properties") or {}), **_OF_ANY_OBJECT}}


class Types:
    """
    The declared types of one environment.

    :ivar pool: the protobuf descriptors of the types, for the checker
    :ivar names: what users may call the types of objects, by the names that the checker has for them
    """

    def __init__(self) -> None:
        self._cel: Any = load_cel().Type
        self._pb: Any = load_protobuf("descriptor_pb2")
        self.pool: Any = load_protobuf("descriptor_pool").DescriptorPool()
        for known in ("timestamp_pb2", "duration_pb2", "struct_pb2"):
            self.pool.AddSerializedFile(load_protobuf(known).DESCRIPTOR.serialized_pb)
        opaque = self._file("kubernetes", "kubernetes")
        for name in OPAQUE:
            opaque.message_type.add(name=name)
        self.pool.Add(opaque)
        self._made = 0
        self.names: dict[str, str] = {}

    def _file(self, name: str, package: str) -> Any:
        return self._pb.FileDescriptorProto(
            name=f"{name}.proto",
            package=package,
            syntax="proto2",
            dependency=[f"google/protobuf/{one}.proto" for one in ("timestamp", "duration", "struct")],
        )

    def of_schema(self, schema: Schema, *, is_root: bool = False, name: str = "", escapes: bool = True) -> Any:
        """
        The type of a schema's values. None if expressions cannot see them.

        :param name: what users may call the type. Types within it are called after their fields
        :param escapes: whether the names of fields are escaped, as those of users' objects are
        """
        self._made += 1
        package = f"schema{self._made}"
        file = self._file(package, package)
        found = _Reader(self._cel, self._pb, file, package, self.names, escapes).read(schema, name, is_root=is_root)
        self.pool.Add(file)
        return found.cel if found is not None else None

    def opaque(self, name: str) -> Any:
        """The type of one of Kubernetes' own values: see :data:`OPAQUE`."""
        return self._cel(f"kubernetes.{name}")


class _Found:
    """A type, in the form for the checker and in the form of a message's field."""

    def __init__(self, cel: Any, number: int, name: str = "", *, repeated: bool = False):
        self.cel, self.number, self.name, self.repeated = cel, number, name, repeated


class _Reader:
    def __init__(self, cel: Any, pb: Any, file: Any, package: str, names: dict[str, str], escapes: bool):
        self._cel, self._field, self._file, self._package = cel, pb.FieldDescriptorProto, file, package
        self._names, self._escapes = names, escapes

    def read(self, schema: Schema, path: str, *, is_root: bool = False) -> _Found | None:
        cel, field = self._cel, self._field
        if schema.get("x-kubernetes-int-or-string"):
            return _Found(cel.DYN, field.TYPE_MESSAGE, ".google.protobuf.Value")
        if is_root:
            schema = _rooted(schema)
        match schema.get("type"):
            case "dyn":
                return _Found(cel.DYN, field.TYPE_MESSAGE, ".google.protobuf.Value")
            case "boolean":
                return _Found(cel.BOOL, field.TYPE_BOOL)
            case "integer":
                return _Found(cel.INT, field.TYPE_INT64)
            case "number":
                return _Found(cel.DOUBLE, field.TYPE_DOUBLE)
            case "string":
                return self._string(schema.get("format"))
            case "array":
                return self._list(schema, path)
            case "object":
                return self._object(schema, path)
        return None

    def _string(self, form: str | None) -> _Found:
        cel, field = self._cel, self._field
        match form:
            case "byte":
                return _Found(cel.BYTES, field.TYPE_BYTES)
            case "duration":
                return _Found(cel.DURATION, field.TYPE_MESSAGE, ".google.protobuf.Duration")
            case "date" | "date-time":
                return _Found(cel.TIMESTAMP, field.TYPE_MESSAGE, ".google.protobuf.Timestamp")
        return _Found(cel.STRING, field.TYPE_STRING)

    def _child(self, schema: Any, path: str) -> _Found | None:
        if not isinstance(schema, Mapping):
            return None
        return self.read(schema, path, is_root=bool(schema.get("x-kubernetes-embedded-resource")))

    def _list(self, schema: Schema, path: str) -> _Found | None:
        item = self._child(schema.get("items"), path and f"{path}.@idx")
        if item is None:
            return None
        if item.repeated or item.name == ".google.protobuf.ListValue":  # messages have no lists of lists
            return _Found(self._cel.List(item.cel), self._field.TYPE_MESSAGE, ".google.protobuf.ListValue")
        return _Found(self._cel.List(item.cel), item.number, item.name, repeated=True)

    def _object(self, schema: Schema, path: str) -> _Found | None:
        cel, field = self._cel, self._field
        if isinstance(schema.get("additionalProperties"), Mapping):
            value = self._child(schema["additionalProperties"], path and f"{path}.@elem")
            if value is None:
                return None
            return _Map(cel.Map(cel.STRING, value.cel), field.TYPE_MESSAGE, value)
        name = f"Object{len(self._file.message_type)}"
        message = self._file.message_type.add(name=name)
        if path:
            self._names[f"{self._package}.{name}"] = path
        message.options.deprecated_legacy_json_field_conflicts = True  # these messages are never read from JSON
        for key, of_key in sorted((schema.get("properties") or {}).items()):
            found = self._child(of_key, path and f"{path}.{key}")
            for spelling in _spellings(key) if self._escapes else (key,):
                if found is not None:
                    self._add(message, name, spelling, found)
        return _Found(cel(f"{self._package}.{name}"), field.TYPE_MESSAGE, f".{self._package}.{name}")

    def _add(self, message: Any, of: str, key: str, found: _Found) -> None:
        field = self._field
        number = len(message.field) + 1
        label = field.LABEL_REPEATED if found.repeated else field.LABEL_OPTIONAL
        type_, type_name = found.number, found.name
        if isinstance(found, _Map):
            value = found.value
            if value.repeated or isinstance(value, _Map):  # messages have no maps of lists
                plain = ".google.protobuf.Struct" if isinstance(value, _Map) else ".google.protobuf.ListValue"
                value = _Found(value.cel, field.TYPE_MESSAGE, plain)
            # protobuf requires this name: the field's name in CamelCase, and Entry.
            entry_name = "".join(part[:1].upper() + part[1:] for part in key.split("_")) + "Entry"
            entry = message.nested_type.add(name=entry_name)
            entry.options.map_entry = True
            entry.field.add(name="key", number=1, type=field.TYPE_STRING, label=field.LABEL_OPTIONAL)
            of_value = entry.field.add(name="value", number=2, type=value.number, label=field.LABEL_OPTIONAL)
            if value.name:
                of_value.type_name = value.name
            label, type_name = field.LABEL_REPEATED, f".{self._package}.{of}.{entry_name}"
        added = message.field.add(name=key, number=number, type=type_, label=label)
        if type_name:
            added.type_name = type_name


class _Map(_Found):
    def __init__(self, cel: Any, number: int, value: _Found):
        super().__init__(cel, number, ".google.protobuf.Struct")
        self.value = value


def to_cel(value: Any, schema: Schema, *, is_root: bool = False) -> Any:
    """
    Convert a JSON value to the type of its schema. Field names are escaped, times become times, and fields without a
    type are left out.

    :raises ValueError: if a text does not have its format
    """
    if is_root:
        schema = _rooted(schema)
    if isinstance(value, dict):
        additional = schema.get("additionalProperties")
        if isinstance(additional, Mapping):
            embedded = bool(additional.get("x-kubernetes-embedded-resource"))
            return {key: to_cel(item, additional, is_root=embedded) for key, item in value.items()}
        properties = schema.get("properties") or {}
        return {
            spelling: to_cel(item, properties[key], is_root=bool(properties[key].get("x-kubernetes-embedded-resource")))
            for key, item in value.items()
            if key in properties
            for spelling in _spellings(key)
        }
    if isinstance(value, list):
        items = schema.get("items") or {}
        embedded = bool(items.get("x-kubernetes-embedded-resource"))
        return [to_cel(item, items, is_root=embedded) for item in value]
    if isinstance(value, str) and "format" in schema:
        return _formatted(value, schema["format"])
    if isinstance(value, int | float) and not isinstance(value, bool):
        if schema.get("type") == "number":
            return float(value)
        if schema.get("type") == "integer":
            return int(value)
    return value


def _formatted(text: str, form: str) -> Any:
    match form:
        case "byte":
            try:
                return base64.b64decode(text, validate=True)
            except binascii.Error as error:
                raise ValueError(f"not base64: {error}") from None
        case "date-time" | "date":
            return as_message(datetime.fromisoformat(text.replace("Z", "+00:00").replace("z", "+00:00")))
        case "duration":
            return as_message(_duration(text))
    return text


def _duration(text: str) -> timedelta:
    """Parse a duration as Go writes it."""
    if text == "0":
        return timedelta()
    if (found := _DURATION.fullmatch(text)) is None:
        raise ValueError(f'invalid duration "{text}"')
    seconds = sum(float(number) * _SECONDS[unit] for number, unit in _DURATION_PARTS.findall(text))
    return timedelta(seconds=-seconds if found[1] == "-" else seconds)


def as_message(value: datetime | timedelta) -> Any:
    """A time as a protobuf message. A map can hold a time only in this form."""
    if isinstance(value, timedelta):
        duration = load_protobuf("duration_pb2").Duration()
        duration.FromTimedelta(value)
        return duration
    if value.tzinfo is None:
        value = value.replace(tzinfo=UTC)
    timestamp = load_protobuf("timestamp_pb2").Timestamp()
    timestamp.FromDatetime(value)
    return timestamp
