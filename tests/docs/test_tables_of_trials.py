"""The tables of what was tried: every test that they name is there, and every row names one."""

from __future__ import annotations

import itertools
import re

import pytest

from tests.test_coverage_tables import DOCS, TEST, missing_tests

#: The pages, the heading of each below which its tables begin, and how many rows there are at least.
PAGES = [("hardening.md", "", 36), ("leader-election.md", "## What was tried", 16)]


def rows(page: str, heading: str) -> list[tuple[str, str]]:
    """What each row is about, and all that it says."""
    text = (DOCS / page).read_text()
    lines = text[text.index(heading) :].splitlines()
    headings = {line for line, below in itertools.pairwise(lines) if below.startswith("|---")}
    table = [line for line in lines if line.startswith("|") and not line.startswith("|---") and line not in headings]
    return [(line.split("|")[1].strip(), line) for line in table]


@pytest.mark.parametrize(("page", "heading", "least"), PAGES)
def test_each_row_names_a_test_that_is_there(page: str, heading: str, least: int) -> None:
    found = rows(page, heading)
    problems = [f"{what}: which test?" for what, line in found if not TEST.search(line)]
    problems += [f"{what}: there is no {test}" for what, line in found for test in missing_tests(line)]

    assert not problems, "\n".join(problems)
    assert len(found) >= least


def test_the_page_on_hardening_begins_with_the_server() -> None:
    first = re.findall(r"^## .+", (DOCS / "hardening.md").read_text(), re.MULTILINE)[0]

    assert first == "## The embedded API server"
