"""Tables for ``kubectl get``: one row for each object, with the columns of the kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

import msgspec

from kinformer.envtest.handlers.columns import Column, columns_of
from kinformer.envtest.handlers.jsonpath import find
from kinformer.envtest.handlers.pod_cells import pod_conditions
from kinformer.envtest.handlers.spans import since
from kinformer.envtest.handlers.view import View
from kinformer.envtest.registry import Resource

__all__ = ("TableView",)

Obj = dict[str, Any]

_META = {"apiVersion": "meta.k8s.io/v1"}
_AGE = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}


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
            self._columns = columns_of(resource)
        else:
            self._columns = _custom_columns(resource.definition.get("additionalPrinterColumns") or [_AGE])
        self._shows_ends = (resource.group, resource.plural) == ("", "pods")

    def one(self, raw: bytes) -> bytes:
        obj = msgspec.json.decode(raw)
        return self._table([obj], {"resourceVersion": obj["metadata"].get("resourceVersion", "")})

    def many(self, raws: Iterable[bytes], metadata: dict[str, Any]) -> bytes:
        return self._table([msgspec.json.decode(raw) for raw in raws], metadata) + b"\n"

    def _table(self, objects: list[Obj], metadata: Obj) -> bytes:
        definitions = [
            {
                "name": name,
                "type": type_,
                "format": "name" if name == "Name" and not priority else "",
                "description": "",
                "priority": priority,
            }
            for name, type_, priority, _ in self._columns
        ]
        table = {"kind": "Table", **_META, "metadata": metadata, "columnDefinitions": definitions}
        return msgspec.json.encode({**table, "rows": [self._row(obj) for obj in objects]})

    def _row(self, obj: Obj) -> Obj:
        row: Obj = {"cells": [self._cell(obj, read) for _, _, _, read in self._columns]}
        if self._shows_ends and (conditions := pod_conditions(obj)):
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
        return value if isinstance(value, str) else str(value) if isinstance(value, int | float) else _encoded(value)

    return printed["name"], type_, printed.get("priority", 0), read


def _encoded(value: Any) -> str:
    return msgspec.json.encode(value).decode()
