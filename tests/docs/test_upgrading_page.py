"""What the page on upgrading promises of the changelog, and the commands that it names."""

from __future__ import annotations

import re
from pathlib import Path

from click import Context

from kinformer.cli.command import main

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "upgrading.md").read_text()
CHANGELOG = (ROOT / "CHANGELOG.md").read_text()


def test_entries_of_the_changelog_begin_with_the_words_that_the_page_explains() -> None:
    explained = set(re.findall(r"^\| \*\*(\w+)\*\* \|", PAGE, re.MULTILINE))
    used = set(re.findall(r"^- \*\*(\w+)\*\*", CHANGELOG, re.MULTILINE))

    assert explained == {"Changed", "Deprecated", "Removed", "Security"}
    assert used <= explained


def test_each_version_in_the_changelog_has_a_number_and_a_date() -> None:
    versions = re.findall(r"^## (.*)$", CHANGELOG, re.MULTILINE)

    assert versions
    assert all(re.fullmatch(r"\d+\.\d+\.\d+ \((unreleased|\d{4}-\d\d-\d\d)\)", version) for version in versions)


def test_the_commands_on_the_page_are_there() -> None:
    named = set(re.findall(r"`kinformer (\w+)", PAGE))

    assert named == {"crd", "manager", "rbac"}
    assert named <= set(main.list_commands(Context(main)))
