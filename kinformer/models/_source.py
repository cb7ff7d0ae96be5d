"""Source of models: kubernetes_asyncio's own metadata, read without importing the library.

Each model of kubernetes_asyncio is in a file of its own, which declares its fields in two literals, ``openapi_types``
and ``attribute_map``. To import the library takes some 400 ms. To read the literals from the files that are needed
takes 0.1 ms for each model. The generator writes them in one form only, and a test reads all 767 models. If a version
writes them in another form, the library is imported. The result is the same, but slower.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

__all__ = ("CONTAINER", "Shape", "model_names", "parts_of_type", "shape_in", "shape_of")

_LITERALS: Final = re.compile(
    r"^    openapi_types = \{(.*?)    \}\n\n    attribute_map = \{(.*?)    \}\n", re.DOTALL | re.MULTILINE
)
_ENTRY: Final = re.compile(r"^ +'(.+)': '(.+)',?$", re.MULTILINE)  # takes a third of the time of ast.literal_eval
_IMPORT: Final = re.compile(r"^from kubernetes_asyncio\.client\.models\.(\w+) import (\w+)$", re.MULTILINE)
_WORD: Final = re.compile(r"\w+")

#: A type that contains another type.
CONTAINER: Final = re.compile(r"list\[(?P<item>.+)\]|dict\(str, (?P<value>.+)\)")


class Shape(NamedTuple):
    """
    The fields of one model, in the order of its constructor.

    :param types: the types by attribute name, in OpenAPI generator's notation: ``list[V1Container]``, ``dict(str,
        str)``
    :param json_names: the names in JSON by attribute name
    """

    types: dict[str, str]
    json_names: dict[str, str]


@cache
def shape_of(model: str) -> Shape:
    """
    The fields of a model.

    :raises KeyError: if kubernetes_asyncio has no model with this name
    """
    file = _files()[model]
    return shape_in((_folder() / f"{file}.py").read_text(encoding="utf-8")) or _asked(model)


def shape_in(source: str) -> Shape | None:
    """Read the fields from the source text of a model; None if it has another form than is known here."""
    found = _LITERALS.search(source)
    if found is None:
        return None
    types, json_names = dict(_ENTRY.findall(found[1])), dict(_ENTRY.findall(found[2]))
    lines = [len(literal.strip().splitlines()) for literal in found.groups()]
    if lines != [len(types), len(json_names)] or types.keys() != json_names.keys():
        return None
    return Shape(types, json_names)


def model_names() -> Collection[str]:
    """The names of all models of kubernetes_asyncio."""
    return _files().keys()


def parts_of_type(type_: str) -> list[str]:
    """The words in a type: ``dict(str, V1Pod)`` contains ``V1Pod``, and two words that are not models."""
    return _WORD.findall(type_)


def _asked(model: str) -> Shape:
    theirs = getattr(importlib.import_module("kubernetes_asyncio.client.models"), model)
    return Shape(dict(theirs.openapi_types), dict(theirs.attribute_map))


@cache
def _files() -> dict[str, str]:
    found = {name: file for file, name in _IMPORT.findall((_folder() / "__init__.py").read_text(encoding="utf-8"))}
    if "V1Pod" in found:
        return found
    theirs = importlib.import_module("kubernetes_asyncio.client.models")
    return {
        name: class_.__module__.rpartition(".")[2]
        for name, class_ in vars(theirs).items()
        if hasattr(class_, "openapi_types")
    }


@cache
def _folder() -> Path:
    spec = importlib.util.find_spec("kubernetes_asyncio")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("kinformer's models are made from kubernetes_asyncio, which is not installed")
    return Path(spec.submodule_search_locations[0], "client", "models")
