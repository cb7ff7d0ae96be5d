"""Tables of the API that are data, in files beside the modules that read them."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

import yaml

__all__ = ("read_table", "read_yaml")

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_table(package: str, name: str) -> list[list[str]]:
    """
    The rows of a text file.

    A line is a row of words. A line that begins with a space continues the row before it. ``#`` begins a comment.

    :param package: the package that the file is in
    """
    rows: list[list[str]] = []
    for line in (files(package) / name).read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        if line.startswith(" "):
            rows[-1] += line.split()
        else:
            rows.append(line.split())
    return rows


@cache
def read_yaml(package: str, name: str) -> dict[str, Any]:
    """The objects of a YAML file by their names. It is read once, and nobody may change it."""
    document: dict[str, Any] = yaml.load((files(package) / name).read_bytes(), Loader=_Loader)
    return document
