"""The names of tests: plain sentences of at most a dozen words."""

from __future__ import annotations

import ast
from pathlib import Path

TESTS = Path(__file__).parent
LONGEST = 12


def test_a_tests_name_has_at_most_a_dozen_words() -> None:
    long = [
        f"{path.relative_to(TESTS)}: {node.name}"
        for path in TESTS.rglob("test_*.py")
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
        and len(node.name.removeprefix("test_").split("_")) > LONGEST
    ]

    assert long == []
