"""The stub of all models, for type checkers and editors: ``python -m tests.models.stubs`` writes it.

It is made from the same metadata of kubernetes_asyncio as the models. A field is plain where the API requires it, and
``X | None`` where it may be left out. One exception, without which every line would have to ask: what the API's own
types hold by value, or every server fills in, though OpenAPI calls it optional, is plain. That is metadata, spec and
status of kinds and templates, and what names an object.
"""

from __future__ import annotations

import keyword
import re
from pathlib import Path

from kinformer import models
from kinformer.models._source import CONTAINER, _files, _folder, model_names, shape_of

__all__ = ("STUB", "stub")

STUB = Path(models.__file__).with_name("_models.pyi")

_REQUIRED = re.compile(r" and (\w+) is None:  # noqa: E501\n +raise ValueError\(\"Invalid value for `\w+`, must not be")
_SCALARS = {"str": "str", "int": "int", "float": "float", "bool": "bool", "object": "Any", "datetime": "datetime"}
_PARTS = ("metadata", "spec", "status")
_ALWAYS_SENT = {
    "V1ObjectMeta": ("name", "namespace", "uid", "resource_version", "creation_timestamp", "generation"),
    "V1DeploymentSpec": ("strategy",),
    "V1ReplicaSetSpec": ("template",),
    "CoreV1Event": ("source",),
}

_HEAD = '''\
# Made by tests/models/stubs.py from kubernetes_asyncio's metadata: what type checkers and editors know of the models.
import builtins
from datetime import datetime
from typing import Any

from kinformer.models._base import Model

class PartialObjectMetadata(Model):
    """What the server sends of an object to whoever asks for its metadata only."""

    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
'''


def stub() -> str:
    """The stub's text."""
    return _HEAD + "".join(_class(name) for name in sorted(model_names()))


def _class(name: str) -> str:
    types = shape_of(name).types
    required = set(_REQUIRED.findall((_folder() / f"{_files()[name]}.py").read_text(encoding="utf-8")))
    if types.get("metadata") in ("V1ObjectMeta", "V1ListMeta"):
        required.update(part for part in _PARTS if types.get(part) in model_names())
    required.update(_ALWAYS_SENT.get(name, ()))
    lines = [f"\nclass {name}(Model):\n"]
    for attribute, type_ in types.items():
        assert not keyword.iskeyword(attribute), attribute
        # A field of MicroTime is a plain datetime here: any is taken, and it is written with six digits.
        shown = _shown(type_)
        # A field that is called like a type hides it.
        shown = re.sub(r"\b(str|int|float|bool)\b", lambda found: "builtins." * (found[0] in types) + found[0], shown)
        plain = attribute in required or shown == "Any"
        lines.append(f"    {attribute}: {shown} = ...\n" if plain else f"    {attribute}: {shown} | None = None\n")
    return "".join(lines) if types else lines[0].replace(":\n", ": ...\n")


def _shown(type_: str) -> str:
    if type_ in _SCALARS:
        return _SCALARS[type_]
    if container := CONTAINER.fullmatch(type_):
        inner = _shown(container["item"] or container["value"])
        return f"list[{inner}]" if container["item"] else f"dict[str, {inner}]"
    return type_ if type_ in model_names() else "Any"


if __name__ == "__main__":
    STUB.write_text(stub(), encoding="utf-8")
