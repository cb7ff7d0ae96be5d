"""The page of leader election: every test that its table names is there, and every row names one."""

from __future__ import annotations

import pytest

from tests.test_coverage_tables import DOCS, ROOT, TEST, names_in

PAGE = DOCS / "leader-election.md"


def rows() -> list[tuple[str, str]]:
    """What each row is about, and all that it says."""
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("|")]
    return [(line.split("|")[1].strip(), line) for line in lines if not line.startswith(("|---", "| what goes wrong"))]


def test_the_table_is_there() -> None:
    assert len(rows()) > 15


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
def test_a_row_names_a_test_that_is_there(row: tuple[str, str]) -> None:
    tests = TEST.findall(row[1])
    assert tests, f"{row[0]}: which test?"
    for test in tests:
        file, _, _ = test.partition("::")
        assert (ROOT / file).exists(), test
        assert test.removeprefix(file) in names_in(file), test
