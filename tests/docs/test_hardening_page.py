"""The page of what was tried: every test that it names is there, and every row names one."""

from __future__ import annotations

import re

import pytest

from tests.test_coverage_tables import DOCS, ROOT, TEST, names_in

PAGE = DOCS / "hardening.md"


def rows() -> list[tuple[str, str]]:
    """What each row is about, and all that it says."""
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("|")]
    return [(line.split("|")[1].strip(), line) for line in lines if not line.startswith(("|---", "| attack"))]


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
def test_each_attack_names_a_test_that_is_there(row: tuple[str, str]) -> None:
    attack, line = row
    named = TEST.findall(line)
    assert named, f"{attack}: which test?"
    for test in named:
        file = test.partition("::")[0]
        assert (ROOT / file).exists(), f"{attack}: {file} is not there"
        assert test.removeprefix(file) in names_in(file), f"{attack}: {test} is not there"


def test_the_page_has_figures_of_every_part() -> None:
    assert len(rows()) > 35
    assert re.findall(r"^## .+", PAGE.read_text(), re.MULTILINE)[0] == "## The embedded API server"
