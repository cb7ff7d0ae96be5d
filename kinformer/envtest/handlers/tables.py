"""Tables for ``kubectl get``: one row for each object, with the columns of the kind (``columns.yaml``)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import datetime
from functools import cache
from typing import Any

import msgspec

from kinformer.envtest.datafiles import read_yaml
from kinformer.envtest.handlers import cells, pod_cells
from kinformer.envtest.handlers.spans import since
from kinformer.envtest.handlers.view import View
from kinformer.envtest.registry import Resource
from kinformer.meta.jsonpath import find

__all__ = ("TableView",)

Obj = dict[str, Any]

_META = {"apiVersion": "meta.k8s.io/v1"}
_CUSTOM = "Custom resource definition column (in JSONPath format): "
_AGE = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}
#: A column: name, type, priority (0 is always shown), and the function that reads its cell.
Column = tuple[str, str, int, cells.Reader]

_PLAIN = {"Name": "metadata.name", "Created At (date)": "metadata.creationTimestamp"}
_head = re.compile(r"(.*?)(?: \((wide|integer|boolean|date)\))?").fullmatch
_call = re.compile(r"(\w+)\((.*)\)").fullmatch
_field = re.compile(r"\{(.*?)\}")


class TableView(View):
    """
    Objects as rows of a table.

    :param include: what comes with each row: the object's ``Metadata``, the whole ``Object``, or ``None``
    """

    def __init__(self, resource: Resource, include: str, now: datetime):
        super().__init__(resource)
        self._include = include
        self._now = now
        if resource.definition is None:
            self._columns = _columns_of(resource)
            described = _descriptions_of(str(resource.group_resource))
        else:
            self._columns = _custom_columns(printed := resource.definition.get("additionalPrinterColumns") or [_AGE])
            own = {one["name"]: one.get("description") or f"{_CUSTOM}{one.get('jsonPath')}" for one in printed}
            described = {**_descriptions_of("all"), **(own if printed != [_AGE] else {})}
        #: Whether the kind has no columns of its own. An empty table then has null as its rows.
        self._is_plain = resource.definition is None and [name for name, *_ in self._columns] == ["Name", "Created At"]
        self._definitions: list[Obj] | None = [
            {"name": name, "type": type_, "format": "name" if name == "Name" else "", "priority": priority}
            | {"description": described.get(name, "")}
            for name, type_, priority, _ in self._columns
        ]
        self._shows_ends = (resource.group, resource.plural) == ("", "pods")

    def one(self, raw: bytes) -> bytes:
        obj = msgspec.json.decode(raw)
        return self._table([obj], {"resourceVersion": obj["metadata"].get("resourceVersion", "")})

    def many(self, raws: Iterable[bytes], metadata: dict[str, Any]) -> bytes:
        return self._table([msgspec.json.decode(raw) for raw in raws], metadata) + b"\n"

    def line(self, type_: str, raw: bytes) -> bytes:
        """The line of a watch event. Only the first one has the columns."""
        line = super().line(type_, raw)
        self._definitions = None
        return line

    def _table(self, objects: list[Obj], metadata: Obj) -> bytes:
        table = {"kind": "Table", **_META, "metadata": metadata, "columnDefinitions": self._definitions}
        rows = [self._row(obj) for obj in objects]
        return msgspec.json.encode({**table, "rows": rows or (None if self._is_plain else [])})

    def _row(self, obj: Obj) -> Obj:
        row: Obj = {"cells": [self._cell(obj, read) for _, _, _, read in self._columns], "object": None}
        if self._shows_ends and (conditions := pod_cells.pod_conditions(obj)):
            row["conditions"] = conditions
        if self._include == "Object":
            row["object"] = {"kind": self.resource.kind, "apiVersion": self.resource.api_version, **obj}
        elif self._include != "None":
            row["object"] = {"kind": "PartialObjectMetadata", **_META, "metadata": obj["metadata"]}
        return row

    def _cell(self, obj: Obj, read: Callable[[Obj, datetime], Any]) -> Any:
        try:
            return read(obj, self._now)
        except Exception:
            # The object is stored already, and it may have values that make no sense. The answer must not fail because
            # of a cell.
            return None


@cache
def _columns_of(resource: Resource) -> list[Column]:
    """The columns of a built-in kind. A kind without its own columns has the name and the creation time."""
    columns = read_yaml(__package__, "columns.yaml").get(str(resource.group_resource), _PLAIN)
    return [_column(head, cell) for head, cell in columns.items()]


@cache
def _descriptions_of(kind: str) -> dict[str, str]:
    texts = read_yaml(__package__, "descriptions.yaml")
    return {**texts["all"], **texts.get(kind, {})}


def _column(head: str, cell: str) -> Column:
    read = _head(head)
    assert read is not None
    type_ = "string" if read[2] in (None, "wide") else read[2]
    return read[1], type_, int(read[2] == "wide"), _reader(cell)


def _reader(cell: str) -> cells.Reader:
    cell, _, condition = cell.partition(" if ")
    if condition:
        path, _, otherwise = condition.partition(" else ")
        there, shown = _value(path), _reader(cell)
        return lambda obj, now: shown(obj, now) if there(obj) else otherwise
    if called := _call(cell):
        function = getattr(pod_cells, called[1], None) or getattr(cells, called[1])
        # A function of cells.py either reads a cell, or makes such a function from its arguments.
        made: cells.Reader = function(*called[2].split(", ")) if called[2] else function
        return made
    if "{" in cell:
        return lambda obj, now: _field.sub(lambda field: str(_value(field[1])(obj)), cell)
    read = _value(cell)
    return lambda obj, now: read(obj)


@cache
def _value(text: str) -> Callable[[Obj], Any]:
    """Reads what is at a path, or the value that stands behind it."""
    path, _, rest = text.partition(" | ")
    try:
        otherwise = msgspec.json.decode(rest)
    except msgspec.DecodeError:
        otherwise = rest

    def read(obj: Obj) -> Any:
        found = [one for one in find(obj, path) if one is not None]
        return otherwise if not found else found[0] if len(found) == 1 else ",".join(map(str, found))

    return read


def _custom_columns(printed: Iterable[Obj]) -> list[Column]:
    name: Column = ("Name", "string", 0, lambda obj, now: obj["metadata"].get("name", ""))
    return [name, *(_custom_column(one) for one in printed)]


def _custom_column(printed: Obj) -> Column:
    type_, path = printed.get("type", "string"), printed.get("jsonPath", "")

    def read(obj: Obj, now: datetime) -> Any:
        found = find(obj, path)
        if not found or found[0] is None:
            return None
        value = found[0]
        if type_ == "date":
            return since(value, now)
        if type_ == "integer":
            return int(value) if isinstance(value, int | float) else None
        if type_ in ("number", "boolean"):
            return value
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, str | int | float):
            return str(value)
        return msgspec.json.encode(value).decode()

    return printed["name"], type_, printed.get("priority", 0), read
