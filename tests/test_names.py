"""The names of tests: plain sentences of at most a dozen words."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parent
LONGEST = 12
DEFINED = re.compile(r"^[ \t]*(?:async )?def test_(\w+)", re.MULTILINE)


def test_a_tests_name_has_at_most_a_dozen_words() -> None:
    long = [
        f"{path.relative_to(TESTS)}: {name}"
        for path in TESTS.rglob("test_*.py")
        for name in DEFINED.findall(path.read_text())
        if len(name.split("_")) > LONGEST
    ]

    assert long == []
