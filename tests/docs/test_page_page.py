"""docs/page.md says what there is."""

from __future__ import annotations

import re
import shlex
from importlib.resources import files
from pathlib import Path

import pytest
from click.testing import CliRunner

from kinformer.cli.command import main

DOCS = Path(__file__).parent.parent.parent / "docs"
PAGE = (DOCS / "page.md").read_text()
COMMANDS = [
    line
    for block in re.findall(r"```shell\n(.*?)```", PAGE, flags=re.DOTALL)
    for line in block.splitlines()
    if line.startswith("kinformer ")
]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_one_that_can_be_typed(command: str) -> None:
    done = CliRunner().invoke(main, [*shlex.split(command)[1:], "--help"])

    assert done.exit_code == 0, done.output
    for flag in re.findall(r" (--?[a-z-]+)", command):
        assert flag in done.output


def test_every_column_that_is_explained_is_on_the_page() -> None:
    script = (files("kinformer.manager.inspection") / "page" / "page.js").read_text()
    columns = [
        name for row in re.findall(r"^\| ([a-z][^|`]*) \|", PAGE, flags=re.MULTILINE) for name in row.split(", ")
    ]

    assert len(columns) > 20
    missing = [name for name in columns if name not in ("column", "path") and f'"{name}' not in script]
    assert missing == []


def test_every_path_is_served() -> None:
    from kinformer.manager.inspection import routes

    source = Path(routes.__file__).read_text()
    for path in re.findall(r"`(/debug/[a-z]+)", PAGE):
        assert f'"{path}"' in source


def test_the_pictures_are_there_and_small() -> None:
    pictures = re.findall(r"\]\((images/[^)]+)\)", PAGE)

    assert len(pictures) == 2
    assert all((DOCS / picture).stat().st_size < 200_000 for picture in pictures)
