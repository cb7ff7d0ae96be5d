"""The table of Kubernetes' controllers names all of them, and says rightly which ones are here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import NamedTuple

from kinformer.manager import known_controllers
from kinformer.manager.names import LONG_NAMES, long_name

PAGE = Path(__file__).parents[2] / "docs" / "controllers" / "README.md"
#: A row: the long name, the short one if there is one, "by default", the package and its page if it is here, the rest.
ROW = re.compile(
    r"^\| `(?P<long>[a-z-]+)` \| (?:`(?P<short>[a-z-]+)`[^|]*)?\|(?P<default>[^|]+)\|"
    r" (?:\[`(?P<package>[a-z]+)`\]\((?P<page>[^)]+)\) )?\| (?P<rest>[^|]+) \|$",
    re.MULTILINE,
)


class Row(NamedTuple):
    long: str
    short: str | None
    default: str
    package: str | None
    page: str | None
    rest: str


ROWS = {match["long"]: Row(*match.groups()) for match in ROW.finditer(PAGE.read_text())}


def test_every_line_of_the_tables_is_read() -> None:
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| `")]

    assert len(lines) == len(ROWS) > 50


def test_the_short_names_in_the_table_are_those_of_the_manager() -> None:
    assert {row.short: row.long for row in ROWS.values() if row.short} == LONG_NAMES


def test_the_controllers_that_are_installed_are_those_that_the_table_calls_so() -> None:
    packages = {
        long_name(point.name): point.module.removeprefix("kinformer_controllers.")
        for point in entry_points(group="kinformer.controllers")
        if point.module.startswith("kinformer_controllers.")
    }

    assert {long: row.package for long, row in ROWS.items() if row.package} == packages
    assert packages.keys() <= {long_name(name) for name in known_controllers()}


def problems_of(row: Row) -> Iterator[str]:
    if row.page is None:
        if not row.rest.startswith("Left out: "):
            yield "has no page, and nothing says why it is left out"
        return
    page, _, anchor = row.page.partition("#")
    text = (PAGE.parent / page).read_text()
    headings = {re.sub(r"[^a-z0-9 -]", "", line.lstrip("# ").lower()).replace(" ", "-") for line in text.splitlines()}
    if row.rest.startswith("Left out"):
        yield "has a page and is left out"
    if not row.short or row.short not in text.lower():
        yield f"{page} does not name it"
    if anchor and anchor not in headings:
        yield f"{page} has no heading {anchor}"


def test_a_row_links_to_its_page_or_says_why_it_is_left_out() -> None:
    problems = [f"{row.long}: {problem}" for row in ROWS.values() for problem in problems_of(row)]

    assert not problems, "\n".join(problems)
