"""Every test that the tables of Kubernetes' own tests name is there, and no row is empty."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
CONTROLLERS = DOCS / "kube-controller-manager-coverage.md"
TABLES = [DOCS / "client-go-coverage.md", *sorted((DOCS / "kube-controller-manager-coverage").glob("*.md"))]
HEADS = ("|---", "| client-go's test", "| controller-runtime's test", "| Kubernetes' test")
TEST = re.compile(r"tests/[\w/]+\.py(?:::\w+)+")


def rows() -> list[tuple[str, str, str]]:
    found = []
    for table in TABLES:
        for number, line in enumerate(table.read_text().splitlines(), 1):
            if line.startswith("|") and not line.startswith(HEADS):
                cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
                found.append((f"{table.name}:{number}", cells[0], "|".join(cells[1:])))
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


def test_the_tables_are_of_all_of_it() -> None:
    assert len(rows()) > 270


def test_the_page_of_the_controllers_names_each_table() -> None:
    page = CONTROLLERS.read_text()

    for table in TABLES[1:]:
        assert f"({CONTROLLERS.stem}/{table.name})" in page, f"{table.name} is not in {CONTROLLERS.name}"


def missing_tests(text: str) -> list[str]:
    """The tests that a text names and that are not there."""
    missing = []
    for test in TEST.findall(text):
        file, _, _ = test.partition("::")
        if not (ROOT / file).exists() or test.removeprefix(file) not in names_in(file):
            missing.append(test)
    return missing


def test_a_row_names_existing_tests_or_says_why_none() -> None:
    problems = []
    for where, name, said in rows():
        if not name:
            problems.append(f"{where}: which test?")
        if not said:
            problems.append(f"{where}: {name} has neither a test nor a reason")
        problems += [f"{where}: {name}: there is no {test}" for test in missing_tests(said)]

    assert not problems, "\n".join(problems)
