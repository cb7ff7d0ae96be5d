"""Run the test suites of other projects against the embedded server: ``make compat``.

    python -m scripts.compat [--sources FOLDER] [--write] [SUITE …]

``suites.toml`` lists the suites, with the causes of the failures that are known. A suite that is not available is
skipped, and the table says why. If a test fails for which there is no cause, the exit code is 1.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from scripts.compat.outcome import Outcome, row, table, with_table
from scripts.compat.play import play
from scripts.compat.suites import ROOT, SUITES, Unavailable

__all__ = ("main",)

_PAGE = ROOT / "docs" / "other-clients.md"


def main(arguments: list[str] | None = None) -> int:
    """Run the suites, print the table, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m scripts.compat", description=__doc__.partition("\n")[0])
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=f"of {', '.join(SUITES)}; all if not given")
    parser.add_argument("--sources", type=Path, help="a folder that has the projects' sources, by suite")
    parser.add_argument("--write", action="store_true", help=f"write the table into {_PAGE.relative_to(ROOT)}")
    given = parser.parse_args(arguments)
    if given.write and given.suites:
        parser.error("--write needs the results of all suites")
    if unknown := [name for name in given.suites if name not in SUITES]:
        parser.error(f"there is no suite {unknown[0]!r}: want one of {', '.join(SUITES)}")
    outcomes = {name: _outcome(name, given.sources) for name in given.suites or SUITES}
    text = table(row(SUITES[name], outcome) for name, outcome in outcomes.items())
    sys.stdout.write(text)
    if given.write:
        _PAGE.write_text(with_table(_PAGE.read_text(encoding="utf-8"), text), encoding="utf-8")
    for name, outcome in outcomes.items():
        for test in outcome.unexplained:
            sys.stdout.write(f"{name}: {test} failed, and scripts/compat/suites.toml has no cause for it\n")
        for pattern in outcome.outdated:
            sys.stdout.write(f"{name}: no test that matches {pattern} has failed\n")
    return int(any(outcome.unexplained for outcome in outcomes.values()))


def _outcome(name: str, sources: Path | None) -> Outcome:
    """Run a suite, and say so on standard error. A suite takes minutes, and the table comes when all are done."""
    sys.stderr.write(f"{name}: ")
    sys.stderr.flush()
    began = time.monotonic()
    try:
        outcome = play(SUITES[name], sources)
    except Unavailable as error:
        outcome = Outcome(why_not=str(error))
    told = outcome.why_not and f"skipped: {outcome.why_not}"
    told = told or f"{outcome.passed} passed, {outcome.failed} failed, {outcome.skipped} skipped"
    sys.stderr.write(f"{told} ({time.monotonic() - began:.0f} s)\n")
    return outcome


if __name__ == "__main__":
    sys.exit(main())
