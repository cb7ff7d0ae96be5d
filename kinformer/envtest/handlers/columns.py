"""The columns of each kind's table, which ``kubectl get`` shows, from ``columns.yaml``."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from functools import cache
from typing import Any

import msgspec

from kinformer.envtest.datafiles import read_yaml
from kinformer.envtest.handlers import cells, pod_cells
from kinformer.envtest.handlers.jsonpath import find
from kinformer.envtest.registry import Resource

__all__ = ("Column", "columns_of")

Obj = dict[str, Any]
#: Reads a cell of an object. The second argument is the time of the request.
Reader = Callable[[Obj, datetime], Any]
#: A column: name, type, priority (0 is always shown), and the function that reads its cell.
Column = tuple[str, str, int, Reader]

_PLAIN = {"Name": "metadata.name", "Created At": "metadata.creationTimestamp"}
_head = re.compile(r"(.*?)(?: \((wide|integer|boolean)\))?").fullmatch
_call = re.compile(r"(\w+)\((.*)\)").fullmatch
_field = re.compile(r"\{(.*?)\}")


@cache
def columns_of(resource: Resource) -> list[Column]:
    """The columns of a built-in kind. A kind without its own columns has the name and the creation time."""
    name = "events" if resource.plural == "events" else str(resource.group_resource)
    return [_column(head, cell) for head, cell in read_yaml(__package__, "columns.yaml").get(name, _PLAIN).items()]


def _column(head: str, cell: str) -> Column:
    read = _head(head)
    assert read is not None
    type_ = "string" if read[2] in (None, "wide") else read[2]
    return read[1], type_, int(read[2] == "wide"), _reader(cell)


def _reader(cell: str) -> Reader:
    if called := _call(cell):
        function = getattr(pod_cells, called[1], None) or getattr(cells, called[1])
        # A function of cells.py either reads a cell, or makes such a function from its arguments.
        made: Reader = function(*called[2].split(", ")) if called[2] else function
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
