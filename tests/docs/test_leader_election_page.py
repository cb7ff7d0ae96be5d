"""The page of leader election: every test that its table names is there, and every row names one."""

from __future__ import annotations

from tests.test_coverage_tables import DOCS, TEST, missing_tests

PAGE = DOCS / "leader-election.md"


def rows() -> list[tuple[str, str]]:
    """What each row of the table of trials is about, and all that it says."""
    _, _, tried = PAGE.read_text().partition("## What was tried")
    lines = [line for line in tried.splitlines() if line.startswith("|")]
    return [(line.split("|")[1].strip(), line) for line in lines if not line.startswith(("|---", "| what goes wrong"))]


def test_the_table_is_there() -> None:
    assert len(rows()) > 15


def test_a_row_names_a_test_that_is_there() -> None:
    problems = [f"{what}: which test?" for what, line in rows() if not TEST.search(line)]
    problems += [f"{what}: there is no {test}" for what, line in rows() for test in missing_tests(line)]

    assert not problems, "\n".join(problems)
