"""The tables for those who come from other libraries, and of symptoms, speak of names that are there."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ("coming-from.md", "troubleshooting.md")
CODE = re.compile(r"`([^`]+)`")
NAME = re.compile(r"(?<![\w./-])[A-Za-z_]\w{3,}")
#: What is not kinformer's: Python's, Kubernetes', kubectl's, and what stands for a name of the reader's.
OTHERS = {
    *("MyResource", "WebApp", "WebAppSpec", "PACKAGE", "MODULE", "NAME", "seconds", "owner", "child", "many", "Many"),
    *("deepcopy", "to_thread", "sleep", "time", "anyio", "copy", "python", "import", "kubectl", "yaml"),
}


@cache
def words_of_the_source() -> frozenset[str]:
    text = "\n".join(path.read_text() for path in (ROOT / "kinformer").rglob("*.py"))
    return frozenset(re.findall(r"\w+", text))


def cells(page: str) -> list[str]:
    """The code in the columns that are about kinformer: all but the first of one page, all of the other."""
    first = 2 if page == "coming-from.md" else 1
    rows = [
        re.split(r"(?<!\\)\|", line) for line in (ROOT / "docs" / page).read_text().splitlines() if line[:2] == "| "
    ]
    return [code for row in rows for cell in row[first:] for code in CODE.findall(cell)]


@pytest.mark.parametrize("page", PAGES)
def test_each_name_in_code_is_in_the_source(page: str) -> None:
    names = {name for code in cells(page) for name in NAME.findall(re.sub(r"'[^']*'", "", code))}

    assert len(names) > 40
    assert names - words_of_the_source() - OTHERS == set()
