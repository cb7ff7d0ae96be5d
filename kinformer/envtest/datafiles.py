"""Tables of the API that are data, in text files beside the modules that read them.

A line is a row of words. A line that begins with a space continues the row before it. ``#`` begins a comment.
"""

from __future__ import annotations

from importlib.resources import files

__all__ = ("read_table",)


def read_table(package: str, name: str) -> list[list[str]]:
    """The rows of a table.

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
