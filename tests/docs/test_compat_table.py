"""The table of other projects' test suites, and how a run of one is judged."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from scripts.compat.outcome import Outcome, read_report, row, with_table
from scripts.compat.suites import ENVIRONMENTS, ROOT, SUITES

REPORT = """<testsuites><testsuite>
<testcase classname="a" name="test_good"/>
<testcase classname="a" name="test_left_out"><skipped/></testcase>
<testcase classname="a" name="test_exec[1]"><failure/></testcase>
<testcase classname="a" name="test_exec[1]"><error/></testcase>
<testcase classname="a" name="test_new"><error/></testcase>
</testsuite></testsuites>"""


def test_the_table_has_each_suite_and_only_causes_that_are_declared() -> None:
    _, _, table = (ROOT / "docs" / "other-clients.md").read_text().partition("| suite | passed |")
    rows = [line.strip("| ").split(" | ") for line in table.partition("\n\n")[0].splitlines()[2:]]

    assert [row[0] for row in rows] == [suite.shown for suite in SUITES.values()]
    for (_, *results), suite in zip(rows, SUITES.values(), strict=True):
        causes = re.findall(r"\d+: (.*?)(?:<br>|$)", results[-1])
        assert set(causes) <= set(suite.causes.values())
        assert suite.environment in ENVIRONMENTS


def test_a_row_says_what_failed_and_what_was_left_out() -> None:
    outcome = Outcome(passed=2, causes={"no containers": ["a", "b"]}, unexplained=["c"])
    suite = replace(next(iter(SUITES.values())), shown="x", left_out="slow ones")

    assert row(suite, outcome) == "| x | 2 | 3 | 0 | 2: no containers<br>left out: slow ones |"


def test_a_new_table_leaves_the_rest_of_the_page_alone() -> None:
    page = (ROOT / "docs" / "other-clients.md").read_text()
    (old,) = re.findall(r"^\| suite \| passed \|.*\n(?:\|.*\n)+", page, re.MULTILINE)
    new = "| suite | passed |\n|---|---|\n| kr8s | 1 |\n"

    assert with_table(page, new) == page.replace(old, new)


def test_a_failure_has_a_declared_cause_or_is_reported(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(REPORT)

    outcome = read_report(report, {"test_exec*": "no containers", "test_old": "is over"})

    assert (outcome.passed, outcome.failed, outcome.skipped) == (1, 2, 1)
    assert outcome.causes == {"no containers": ["test_exec[1]"]}
    assert (outcome.unexplained, outcome.outdated) == (["test_new"], ["test_old"])
