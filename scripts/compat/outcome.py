"""The result of a suite, and its row in the table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

from scripts.compat.suites import Suite

__all__ = ("Outcome", "read_report", "row", "table", "with_table")

#: How the table in the documentation begins.
_TABLE: Final = "| suite | passed |"


@dataclass(slots=True)
class Outcome:
    """
    The result of a suite.

    :param causes: the failed tests, by the cause that ``suites.toml`` gives
    :param unexplained: the failed tests without a cause
    :param outdated: the patterns of causes that match no failed test
    :param why_not: why the suite was not run; empty if it was
    """

    passed: int = 0
    skipped: int = 0
    causes: dict[str, list[str]] = field(default_factory=dict)
    unexplained: list[str] = field(default_factory=list)
    outdated: list[str] = field(default_factory=list)
    why_not: str = ""

    @property
    def failed(self) -> int:
        return len(self.unexplained) + sum(map(len, self.causes.values()))


def read_report(report: Path, causes: dict[str, str]) -> Outcome:
    """
    Judge a run by pytest's report.

    :param causes: why tests fail, by patterns for their names
    """
    outcome = Outcome()
    seen: set[str] = set()
    failed: set[tuple[str, str]] = set()
    for case in ElementTree.parse(report).iter("testcase"):
        test = case.get("name", "")
        results = {part.tag for part in case} & {"failure", "error", "skipped"}
        if not results:
            outcome.passed += 1
        elif results == {"skipped"}:
            outcome.skipped += 1
        elif (case.get("classname", ""), test) not in failed:  # a test that fails may have an error in its teardown too
            failed.add((case.get("classname", ""), test))
            pattern = next((it for it in causes if fnmatchcase(test.replace("[", "("), it)), None)
            if pattern is None:
                outcome.unexplained.append(test)
            else:
                seen.add(pattern)
                outcome.causes.setdefault(causes[pattern], []).append(test)
    outcome.outdated = [pattern for pattern in causes if pattern not in seen]
    return outcome


def row(suite: Suite, outcome: Outcome) -> str:
    """The suite's row of the table."""
    if outcome.why_not:
        return f"| {suite.shown} | | | | skipped: {outcome.why_not} |"
    why = [f"{len(tests)}: {cause}" for cause, tests in outcome.causes.items()]
    if suite.left_out:
        why.append(f"left out: {suite.left_out}")
    return f"| {suite.shown} | {outcome.passed} | {outcome.failed} | {outcome.skipped} | {'<br>'.join(why)} |"


def table(rows: Iterable[str]) -> str:
    """The table, with its head."""
    return "".join(f"{line}\n" for line in (f"{_TABLE} failed | skipped | why |", "|---|---|---|---|---|", *rows))


def with_table(page: str, text: str) -> str:
    """The page with another table of results."""
    before, _, after = page.partition(_TABLE)
    _, blank, after = after.partition("\n\n")
    return f"{before}{text.rstrip()}{blank}{after}"
