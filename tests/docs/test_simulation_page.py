"""The chapter of the planted bug: its code, run by pytest as a reader would run it, finds what the page says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.forked import run

PAGE = Path(__file__).parents[2] / "docs" / "simulation.md"


def blocks(language: str) -> list[str]:
    chapter = PAGE.read_text().partition("## Find a planted bug")[2].partition("\n## ")[0]
    return re.findall(rf"```{language}\n(.*?)```", chapter, re.DOTALL)


def played(folder: Path, *arguments: str) -> tuple[int, str]:
    found = run("pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *arguments, folder=folder)
    return found.status, found.out


def shape(text: str) -> str:
    """A text without its times and widths, which the next change of the simulator may change."""
    return re.sub(r"\s+", " ", re.sub(r"\d+\.\d{3}", "<time>", text)).strip()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The reader's, with the files of the page."""
    boards, test, _ = blocks("python")
    tmp_path.joinpath("boards.py").write_text(boards)
    tmp_path.joinpath("test_boards.py").write_text(test)
    return tmp_path


def test_the_planted_bug_is_found_as_the_page_says(folder: Path) -> None:
    status, said = played(folder)

    assert status == 1
    for text in blocks("text"):
        for line in filter(None, text.splitlines()):
            assert shape(line) in shape(said), line


def test_the_plan_of_the_page_plays_it_again(folder: Path) -> None:
    (command,) = blocks("console")
    (plan,) = re.findall(r"--simulate-plan '(.*)'", command)

    status, said = played(folder, "--simulate-plan", plan)

    assert status == 1
    assert "pods/default/home: is missing" in said


def test_nothing_is_found_once_it_is_mended(folder: Path) -> None:
    boards, _, mended = blocks("python")
    folder.joinpath("boards.py").write_text(f"{boards}\n{mended}")

    status, said = played(folder)

    assert status == 0, said


def test_the_table_of_public_reports_is_that_of_the_bugs() -> None:
    from tests.simulation.bugs import BUGS

    named = set(re.findall(r"[\w.-]+/[\w.-]+#\d+", PAGE.read_text()))

    assert named == {bug.issue for bug in BUGS}
