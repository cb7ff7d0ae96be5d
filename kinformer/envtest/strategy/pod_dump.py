"""The spec of a pod as kube-apiserver prints it: its internal type as JSON, with the names of Go's fields.

If an update changes a field that may not change, the error has the difference between two such texts. Fields are in the
order of the Go types (``pod_dump.txt``), including those that are not set.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from functools import cache
from typing import Any

from kinformer.envtest.datafiles import read_table

__all__ = ("spec_difference",)

#: The limit of lines. Longer texts are not compared, because that would take seconds and nobody would read the result.
_MOST_LINES = 5000

_ZERO = {"": "", "#": 0, "?": False, "%": "0", "-": None, "~": None}
#: Fields that belong to the security context in the printed text, and to the spec in the API.
_OF_HOST = ("hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers")


def spec_difference(old: dict[str, Any], new: dict[str, Any]) -> str:
    """The difference between two specs of pods, with three lines of context."""
    before, after = (_dump(spec) for spec in (old, new))
    if max(len(before), len(after)) > _MOST_LINES:
        return "(the difference is too long to be shown)\n"
    # The first two lines are for the names of files.
    return "".join(list(difflib.unified_diff(before, after, n=3))[2:])


def _dump(spec: dict[str, Any]) -> list[str]:
    context = {**(spec.get("securityContext") or {}), **{name: spec[name] for name in _OF_HOST if name in spec}}
    text = json.dumps(_typed({**spec, "securityContext": context}, "PodSpec"), indent=1, ensure_ascii=False)
    for char in "<>&":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return [f"{line}\n" for line in text.split("\n")]


@cache
def _types() -> dict[str, list[str]]:
    return {type_: fields for type_, *fields in read_table(__package__, "pod_dump.txt")}


@cache
def _fields(type_: str) -> tuple[tuple[str, str, str], ...]:
    """The fields of a type: the name, the mark, and the type of the value."""
    return tuple(_read_fields(type_))


def _read_fields(type_: str) -> Iterator[tuple[str, str, str]]:
    for field in _types()[type_]:
        if field.startswith("+"):
            yield from _fields(field[1:])
            continue
        sign = next((char for char in field if char in "#?%-=~"), "")
        name, _, held = field.partition(sign) if sign else (field, "", "")
        yield name, sign, held


def _typed(value: dict[str, Any], type_: str) -> dict[str, Any]:
    given = {name.lower(): one for name, one in value.items()}
    return {name: _field(given.get(name.lower()), sign, held) for name, sign, held in _fields(type_)}


def _field(value: Any, sign: str, held: str) -> Any:
    if sign == "=":
        return _typed(value or {}, held)
    if value is None or value == []:
        return _ZERO[sign]
    if sign == "~":
        return _named(value)
    if isinstance(value, list):
        return [_typed(one, held) for one in value] if held else value
    if held:
        return _typed(value, held)
    return dict(sorted(value.items())) if isinstance(value, dict) else value


def _named(value: Any) -> Any:
    """A rare part of a pod. It is printed as the API has it, with capital letters at the beginning of names."""
    if isinstance(value, dict):
        return {name[:1].upper() + name[1:]: _named(one) for name, one in value.items()}
    return [_named(one) for one in value] if isinstance(value, list) else value
