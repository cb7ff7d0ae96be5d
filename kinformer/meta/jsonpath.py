"""JSONPath, as far as the printer columns of custom resources need it.

Supported are fields (``.spec.x``, ``['a.b']``), indexes (``[0]``, ``[-1]``), ranges (``[-1:]``), all items of a list
(``[*]``), and filters that compare a field with a value (``[?(@.type=="Ready")]``). Other paths find nothing.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from kinformer.meta.integers import read_integer

__all__ = ("find",)

_STEP = re.compile(
    r"""
    \.?(?P<field>[\w$-]+(?:\\\.[\w-]+)*)
    |\[(?:'(?P<single>[^']*)'|"(?P<double>[^"]*)")\]
    |\[(?P<place>-?\d+)\]
    |\[(?P<begin>-?\d+)?:(?P<end>-?\d+)?\]
    |(?P<all>\[\*\]|\.\*)
    |\[\?\(\s*@(?P<way>[^=!<>\s]*)\s*(?P<sign>==|!=)\s*(?P<value>"[^"]*"|'[^']*'|[^)\s]+)\s*\)\]
    """,
    re.VERBOSE,
)
_WORDS: dict[str, Any] = {"true": True, "false": False}


@lru_cache(maxsize=512)
def _steps(path: str) -> tuple[re.Match[str], ...] | None:
    steps, at = [], 0
    path = path.strip().removeprefix("{").removesuffix("}").removeprefix("$")
    while at < len(path):
        step = _STEP.match(path, at)
        if step is None or step.end() == at:
            return None
        steps.append(step)
        at = step.end()
    return tuple(steps)


def find(value: Any, path: str) -> list[Any]:
    """All values that a path finds in a value."""
    steps = _steps(path)
    if steps is None:
        return []
    found = [value]
    for step in steps:
        found = [item for one in found for item in _go(one, step)]
    return found


def _go(value: Any, step: re.Match[str]) -> list[Any]:
    name = step["field"] or step["single"] or step["double"]
    if name is not None:
        name = name.replace("\\.", ".")
        return [value[name]] if isinstance(value, dict) and name in value else []
    if step["all"]:
        return list(value.values()) if isinstance(value, dict) else list(value) if isinstance(value, list) else []
    if not isinstance(value, list):
        return []
    if step["place"] is not None:
        place = read_integer(step["place"])
        return [value[place]] if place is not None and -len(value) <= place < len(value) else []
    if step["value"] is None:
        begin, end = _bound(step["begin"], 0, len(value)), _bound(step["end"], len(value), len(value))
        # As in Kubernetes, a range that is not completely in the list has nothing, not the part that is in it.
        return value[begin:end] if 0 <= begin < end <= len(value) else []
    wanted = _read(step["value"])
    return [one for one in value if (find(one, step["way"])[:1] == [wanted]) == (step["sign"] == "==")]


def _bound(text: str | None, otherwise: int, length: int) -> int:
    number = read_integer(text) if text else otherwise
    return -1 if number is None else number + length if number < 0 else number


def _read(text: str) -> Any:
    if text[0] in "\"'":
        return text[1:-1]
    if text in _WORDS:
        return _WORDS[text]
    number = read_integer(text)
    return text if number is None else number
