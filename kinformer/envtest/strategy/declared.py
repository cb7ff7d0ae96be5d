"""What is declared of each built-in kind: the settings of its strategy, and its defaults (``kinds.yaml``).

Kubernetes makes most defaults from markers at the fields of its types. Here they are a tree of fields, too. A tree is
read once, into steps that are taken for each object that is written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from functools import cache
from typing import Any, Literal, NamedTuple

from kinformer.envtest.datafiles import read_yaml
from kinformer.envtest.registry import Resource

__all__ = ("Steps", "defaults_of", "defaults_of_part", "fill", "kinds", "settings_of")

Obj = dict[str, Any]
#: The ends of names in a tree of defaults, and what a step does with the field of that name.
_MARKS: Mapping[str, Literal["set if empty", "go on", "each item", "each value"]] = {
    " or": "set if empty",
    "?": "go on",
    "[]": "each item",
    "{}": "each value",
}


class Step(NamedTuple):
    """
    What is done with one field.

    :param value: the default; or the steps of what is in the field; or the values with which more steps are taken, and
        these steps
    """

    name: str
    action: Literal["set", "set if empty", "make", "go on", "each item", "each value", "when"]
    value: Any


Steps = Sequence[Step]
#: Words in conditions that are no texts.
_WORDS: Mapping[str, Any] = {"null": None}


def kinds() -> dict[str, Any]:
    """All that ``kinds.yaml`` declares, by ``plural.group``. ``parts`` is what several kinds have."""
    return read_yaml(__package__, "kinds.yaml")


@cache
def settings_of(resource: Resource) -> Mapping[str, Any]:
    """The attributes of the strategy of a built-in resource that differ from those of every strategy."""
    declared: dict[str, Any] = kinds().get(str(resource.group_resource)) or {}
    return {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in declared.items()
        if name not in ("checks", "defaults", "spec", "strategy")
    }


@cache
def defaults_of(resource: Resource) -> Steps:
    """The defaults of a built-in resource's objects."""
    return _steps((kinds().get(str(resource.group_resource)) or {}).get("defaults") or {})


@cache
def defaults_of_part(name: str) -> Steps:
    """The defaults of a part that several kinds have."""
    return _steps(kinds()["parts"][name])


def _steps(tree: Mapping[str, Any]) -> Steps:
    return [_step(name, value) for name, value in tree.items()]


def _step(name: str, value: Any) -> Step:
    name, when, condition = name.partition(" when ")
    if when:
        field, _, values = condition.partition(" is ")
        return Step(field, "when", ([_WORDS.get(one, one) for one in values.split(" or ")], [_step(name, value)]))
    for mark, action in _MARKS.items():
        if name.endswith(mark):
            return Step(name.removesuffix(mark), action, value if action == "set if empty" else _steps(value))
    return Step(name, "make", _steps(value)) if isinstance(value, dict) else Step(name, "set", value)


def fill(obj: Obj, steps: Steps) -> None:
    """Set the defaults of an object or a part of one. Null counts as absent."""
    for name, action, value in steps:
        held = obj.get(name)
        if action == "set":
            if held is None:
                obj[name] = deepcopy(value) if isinstance(value, list) else value
        elif action == "set if empty":
            obj[name] = held or deepcopy(value)
        elif action == "when":
            values, more = value
            if (held if held == 0 else held or None) in values:
                fill(obj, more)
        elif action == "make":
            if held is None:
                held = obj[name] = {}
            fill(held, value)
        elif not held and held != {}:
            continue
        elif action == "go on":
            fill(held, value)
        else:
            for item in held.values() if action == "each value" else held:
                fill(item, value)
