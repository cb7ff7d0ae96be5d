"""The table of other projects' test suites, and how a run of one is judged."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from scripts.compat import read_report, with_table

ROOT = Path(__file__).parents[2]
SUITES = tomllib.loads((ROOT / "scripts" / "compat.toml").read_text())["suites"]
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

    assert [re.split("==|,", row[0])[0] for row in rows] == list(SUITES)
    for (_, *row), suite in zip(rows, SUITES.values(), strict=True):
        causes = re.findall(r"\d+: (.*?)(?:<br>|$)", row[-1])
        assert set(causes) <= set(suite.get("causes", {}).values())


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
