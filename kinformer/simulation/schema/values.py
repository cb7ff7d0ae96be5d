"""Values: the fields of an object by its kind's schema, and what each of them could be changed to.

:func:`fields_of` returns the fields with *groups* of values. A group is one idea, such as one more, none, or another
item; its values are alternatives, and the first one that the server accepts is played. A schema says little of what is
valid: it has patterns and rules, and built-in kinds are checked by code. So the values here are only candidates.

This module does no I/O.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from kinformer.simulation.schema.changes import ABSENT, Path, is_below

__all__ = ("Field", "Group", "Schema", "Schemas", "fields_of")

Schema: TypeAlias = Mapping[str, Any]
Group: TypeAlias = Sequence[Any]

#: How deep fields are looked for in an object that is not there.
_DEPTH: Final = 2
#: A larger bound is not tried: it may be a number of objects.
_MOST: Final = 1000
_PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"
#: Of many forms, because a pattern may want any of them.
_TEXTS: Final = (
    *("a", "b", "a1b2", "1", "a.example.com", "example.com/a", "a=b", "A"),
    *("10s", "1h", "0 * * * *", "100m", "1Gi", "50%", "Etc/UTC", "YQ=="),
    *("https://example.com/a", "10.0.0.1", "10.0.0.0/24", "2026-01-01T00:00:00Z"),
)
_MARK: Final = re.compile(r"^\s*(Deprecated|Without effect):", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Field:
    """
    A field that can be changed.

    :param groups: the values; see the module
    :param is_marked: whether its description, or that of a field around it, says that it has no effect
    """

    path: Path
    schema: Schema
    groups: Sequence[Group]
    is_marked: bool = False


def _is_without_effect(schema: Schema) -> bool:
    """Whether a description has a paragraph that begins with ``Deprecated:`` or ``Without effect:``."""
    return _MARK.search(schema.get("description") or "") is not None


class Schemas:
    """
    The schemas of a group and version.

    :param document: the OpenAPI document of version 3
    """

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._types: Mapping[str, Schema] = document["components"]["schemas"]

    def of_kind(self, kind: str) -> Schema:
        """
        The schema of a kind.

        :raises LookupError: if there is none
        """
        for schema in self._types.values():
            if any(marked["kind"] == kind for marked in schema.get("x-kubernetes-group-version-kind", ())):
                return schema
        raise LookupError(f"the server has no schema of {kind}")

    def whole(self, schema: Schema) -> Schema:
        """A schema with what it refers to in its place."""
        for part in schema.get("allOf", ()):
            if "$ref" in part:
                others = {key: value for key, value in schema.items() if key not in ("allOf", "default")}
                return {**self._types[part["$ref"].rpartition("/")[2]], **others}
        return schema

    def below(self, schema: Schema, path: Path) -> Schema:
        """The schema of a field within; empty if there is none."""
        for step in path:
            schema = self.whole(schema)
            inner = schema.get("properties", {}).get(step) or schema.get("items") or schema.get("additionalProperties")
            schema = inner if isinstance(inner, Mapping) else {}
        return self.whole(schema)

    def samples(self, schema: Schema) -> Iterator[Any]:
        """Some values, the most likely ones first. Of an object, these are values with the required fields alone."""
        schema = self.whole(schema)
        if "default" in schema:
            yield schema["default"]
        if "enum" in schema:
            yield from schema["enum"]
        elif _is_int_or_string(schema):
            yield from (3, "3", "100%", "100m")
        elif "oneOf" in schema:
            yield from ("1", "100m", "1Gi")
        else:
            yield from self._samples_by_type(schema)

    def _samples_by_type(self, schema: Schema) -> Iterator[Any]:
        match schema.get("type"):
            case "string":
                yield from _TEXTS
            case "boolean":
                yield from (True, False)
            case "integer" | "number":
                yield from _numbers(schema, 1)
            case "array":
                yield from ([each] for each in self.samples(schema.get("items", {})))
            case _ if isinstance(schema.get("additionalProperties"), Mapping):
                yield from ({"a": each} for each in self.samples(schema["additionalProperties"]))
            case _:
                yield self._object(schema)

    def _object(self, schema: Schema) -> dict[str, Any]:
        properties = schema.get("properties", {})
        required = schema.get("required", ())
        made: dict[str, Any] = {name: next(self.samples(properties.get(name, {})), {}) for name in required}
        return made or ({"a": "b"} if schema.get(_PRESERVE) else {})


def _is_int_or_string(schema: Schema) -> bool:
    return bool(schema.get("x-kubernetes-int-or-string")) or schema.get("format") == "int-or-string"


def _numbers(schema: Schema, *first: float) -> Iterator[Any]:
    """Numbers for a field, the bounds behind the first ones. Bounds of integers may be written as floats."""
    bounds = [bound for bound in (schema.get("minimum", 0), schema.get("maximum")) if bound is not None]
    make = int if schema.get("type") == "integer" else float
    yield from (*first, *(make(bound) for bound in bounds if abs(bound) <= _MOST))


# -- the fields of an object ------------------------------------------------------------------------------------------


def fields_of(schemas: Schemas, schema: Schema, obj: Any, only: Sequence[Path] = ()) -> Iterator[Field]:
    """
    The fields of an object.

    Its type, metadata and status are left out, unless `only` names fields of the metadata.

    :param schema: the schema of its kind
    :param only: patterns of the fields that are wanted, with those within them; all if empty
    """
    for name, inner in schemas.whole(schema).get("properties", {}).items():
        is_asked = name == "metadata" and any(pattern[0] == name for pattern in only)
        if is_asked or name not in ("apiVersion", "kind", "metadata", "status"):
            is_required = name in schema.get("required", ())
            for field in _fields(schemas, inner, obj.get(name, ABSENT), (name,), is_required=is_required):
                if not only or any(is_below(field.path, pattern) for pattern in only):
                    yield field


def _fields(
    schemas: Schemas,
    schema: Schema,
    value: Any,
    path: Path,
    depth: int = _DEPTH,
    *,
    is_required: bool = False,
    is_marked: bool = False,
) -> Iterator[Field]:
    """A field, and those within it. `depth` is for those of objects that are not there."""
    schema = schemas.whole(schema)
    is_marked = is_marked or _is_without_effect(schema)
    removal = [] if value is ABSENT or is_required else [[ABSENT]]
    groups = [*_others(schemas, schema, value), *removal]
    yield Field(path, schema, groups, is_marked)
    properties = schema.get("properties", {})
    if value is ABSENT:
        if not depth:
            return
        depth -= 1
        required = set(schema.get("required", ()))
        # A required field is in the sample of the object already.
        properties = {name: inner for name, inner in properties.items() if name not in required}
        value = {}
    if isinstance(value, list) and value:
        yield from _fields(schemas, schema.get("items", {}), value[0], (*path, "0"), is_required=True)
        return
    if not isinstance(value, Mapping):
        return
    more = schema.get("additionalProperties")
    if not properties and isinstance(more, Mapping) and value:
        name = next(iter(value))
        yield from _fields(schemas, more, value[name], (*path, name), is_required=True, is_marked=is_marked)
    for name, inner in properties.items():
        yield from _fields(
            schemas,
            inner,
            value.get(name, ABSENT),
            (*path, name),
            depth,
            is_required=name in schema.get("required", ()),
            is_marked=is_marked,
        )


def _others(schemas: Schemas, schema: Schema, value: Any) -> list[Group]:
    """Groups of other values for a field. One that is absent has its default."""
    value = schema.get("default", ABSENT) if value is ABSENT else value
    if value is ABSENT:
        samples = list(schemas.samples(schema))
        is_choice = "enum" in schema or schema.get("type") == "boolean" or _is_int_or_string(schema)
        return [[each] for each in samples] if is_choice else [samples, *_empty(schema)]
    if "enum" in schema:
        return [[each] for each in schema["enum"] if each != value]
    if isinstance(value, bool):
        return [[not value]]
    if isinstance(value, int | float):
        numbers = dict.fromkeys(_numbers(schema, value + schema.get("multipleOf", 1)))
        texts = [["100%", "100m"]] if _is_int_or_string(schema) else []
        return [*([number] for number in numbers if number != value), *texts]
    if isinstance(value, str):
        others = [_unlike(value), *schemas.samples(schema)] if "oneOf" not in schema else list(schemas.samples(schema))
        return [[each for each in others if each != value], *([] if not value else _empty(schema))]
    if isinstance(value, list):
        return _lists(schemas, schema, value)
    if isinstance(value, Mapping) and not schema.get("properties"):
        return _maps(schemas, schema, value)
    return []


def _empty(schema: Schema) -> list[Group]:
    return [[""]] if schema.get("type") == "string" and "enum" not in schema else []


def _lists(schemas: Schemas, schema: Schema, value: list[Any]) -> list[Group]:
    samples = [each for each in schemas.samples(schema.get("items", {})) if each not in value]
    key = (schema.get("x-kubernetes-list-map-keys") or [schema.get("x-kubernetes-patch-merge-key") or "name"])[0]
    copies = [_other_item(value[-1], key)] if value else []
    groups: list[Group] = [[[*value, each] for each in (*copies, *samples)]]
    if value:
        groups.append([value[:-1]])
    if len(value) > 1:
        groups.append([value[::-1]])
    return groups


def _maps(schemas: Schemas, schema: Schema, value: Mapping[str, Any]) -> list[Group]:
    more = schema.get("additionalProperties")
    samples = list(schemas.samples(more)) if isinstance(more, Mapping) else ["b"]
    name = "a"
    while name in value:
        name += "a"
    return [[{**value, name: sample} for sample in samples], *([[dict(list(value.items())[:-1])]] if value else [])]


def _other_item(item: Any, key: str) -> Any:
    """An item that differs in its key, or in its first text or number."""
    if isinstance(item, str):
        return _unlike(item)
    if isinstance(item, int | float) and not isinstance(item, bool):
        return item + 1
    if isinstance(item, Mapping):
        simple = [name for name, value in item.items() if isinstance(value, str | int) and not isinstance(value, bool)]
        for name in ([key] if key in simple else simple)[:1]:
            return {**item, name: _other_item(item[name], key)}
    return item


def _unlike(text: str) -> str:
    """A text of the same form: its last letter or digit is another one."""
    for place in range(len(text) - 1, -1, -1):
        character = text[place]
        if character.isascii() and character.isalnum():
            other = {"z": "y", "Z": "Y", "9": "8"}.get(character) or chr(ord(character) + 1)
            return text[:place] + other + text[place + 1 :]
    return f"{text}a"
