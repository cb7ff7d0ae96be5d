"""Mutants that no test can kill, and why: what is listed in ``survivors.toml``.

A mutant is named by its path, its line of the source and its mistake. The numbers of lines do not matter.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Final

from tests.mutants.operators import Mutant

__all__ = ("reasons", "sign")

_LIST: Final = Path(__file__).with_name("survivors.toml")

#: Path, line and mistake.
Sign = tuple[str, str, str]


def sign(path: str, mutant: Mutant) -> Sign:
    """What a mutant is recognized by after other lines have changed."""
    return path, mutant.text, mutant.mistake


def reasons() -> dict[Sign, str]:
    """Why each listed mutant survives."""
    listed = tomllib.loads(_LIST.read_text())
    return {(path, row["line"], row["mistake"]): row["why"] for path, rows in listed.items() for row in rows}
