"""Where the models' shapes come from: kubernetes_asyncio's own metadata, read without importing it.

Every model of kubernetes_asyncio stands in a file of its own and tells its fields in two literals, ``openapi_types``
and ``attribute_map``. Importing the package costs some 400 ms; reading the literals out of the files that are needed
costs 0.1 ms a model. The generator writes them in one form only, and a test reads all 767 models.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import NamedTuple

__all__ = ("Shape", "model_names", "shape_of")

_LITERALS = re.compile(
    r"^    openapi_types = \{(.*?)    \}\n\n    attribute_map = \{(.*?)    \}\n", re.DOTALL | re.MULTILINE
)
_ENTRY = re.compile(r"^ +'(.+)': '(.+)',?$", re.MULTILINE)  # a third of the time that ast.literal_eval takes
_IMPORT = re.compile(r"^from kubernetes_asyncio\.client\.models\.(\w+) import (\w+)$", re.MULTILINE)


class Shape(NamedTuple):
    """
    The fields of one model, in the order of its constructor.

    :param types: attribute name to type, in OpenAPI generator's words: ``list[V1Container]``, ``dict(str, str)``
    :param json_names: attribute name to the name in JSON
    """

    types: dict[str, str]
    json_names: dict[str, str]


@cache
def shape_of(model: str) -> Shape:
    """
    The fields of a model.

    :raises KeyError: if kubernetes_asyncio has no model of that name
    """
    found = _LITERALS.search((_folder() / f"{_files()[model]}.py").read_text(encoding="utf-8"))
    if found is None:
        raise RuntimeError(f"kubernetes_asyncio's {model} does not tell its fields in the form that is known here")
    return Shape(dict(_ENTRY.findall(found[1])), dict(_ENTRY.findall(found[2])))


def model_names() -> Collection[str]:
    """Every model that kubernetes_asyncio has."""
    return _files().keys()


@cache
def _files() -> dict[str, str]:
    return {name: file for file, name in _IMPORT.findall((_folder() / "__init__.py").read_text(encoding="utf-8"))}


@cache
def _folder() -> Path:
    spec = importlib.util.find_spec("kubernetes_asyncio")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("kinformer's models are made from kubernetes_asyncio, which is not installed")
    return Path(spec.submodule_search_locations[0], "client", "models")
