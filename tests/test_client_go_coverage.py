"""Every test that the table of client-go's tests names is there, and no row is empty."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "docs" / "client-go-coverage.md"
HEADS = ("|---", "| client-go's test", "| controller-runtime's test")
TEST = re.compile(r"tests/[\w/]+\.py(?:::\w+)+")


def rows() -> list[tuple[str, str, str]]:
    found = []
    for number, line in enumerate(TABLE.read_text().splitlines(), 1):
        if line.startswith("|") and not line.startswith(HEADS):
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            found.append((f"{TABLE.name}:{number}", cells[0], "|".join(cells[1:])))
    return found


@cache
def names_in(file: str) -> frozenset[str]:
    """The tests of a file, as ``::name`` and ``::Class::name``, and names bound to test classes."""
    names = set()
    for node in ast.parse((ROOT / file).read_text()).body:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                names.add(f"::{name}")
            case ast.ClassDef(name=name, body=body):
                names.add(f"::{name}")
                names.update(
                    f"::{name}::{inner.name}"
                    for inner in body
                    if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef)
                )
            case ast.Assign(targets=[ast.Name(id=name)]):
                names.add(f"::{name}")
    return frozenset(names)


def test_the_table_is_of_all_of_it() -> None:
    assert len(rows()) > 250


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[1])
def test_a_row_names_tests_that_are_there_or_says_why_there_is_none(row: tuple[str, str, str]) -> None:
    where, name, said = row
    assert name, f"{where}: which test?"
    assert said, f"{where}: {name} has neither a test nor a reason"
    missing = []
    for test in TEST.findall(said):
        file, _, _ = test.partition("::")
        if not (ROOT / file).exists() or test.removeprefix(file) not in names_in(file):
            missing.append(test)
    assert not missing, f"{where}: {name}: there is no {', '.join(missing)}"
