"""The page of what was tried: every test that it names is there, and every row names one."""

from __future__ import annotations

import itertools
import re

from tests.test_coverage_tables import DOCS, TEST, missing_tests

PAGE = DOCS / "hardening.md"


def rows() -> list[tuple[str, str]]:
    """What each row is about, and all that it says."""
    lines = PAGE.read_text().splitlines()
    headings = {line for line, below in itertools.pairwise(lines) if below.startswith("|---")}
    table = [line for line in lines if line.startswith("|") and not line.startswith("|---") and line not in headings]
    return [(line.split("|")[1].strip(), line) for line in table]


def test_each_attack_names_a_test_that_is_there() -> None:
    problems = [f"{attack}: which test?" for attack, line in rows() if not TEST.search(line)]
    problems += [f"{attack}: there is no {test}" for attack, line in rows() for test in missing_tests(line)]

    assert not problems, "\n".join(problems)


def test_the_page_has_figures_of_every_part() -> None:
    assert len(rows()) > 35
    assert re.findall(r"^## .+", PAGE.read_text(), re.MULTILINE)[0] == "## The embedded API server"
