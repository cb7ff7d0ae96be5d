"""The examples: what they promise beside what their own tests show."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
FOLDERS = sorted(folder for folder in EXAMPLES.iterdir() if (folder / "manifest.yaml").exists())


def test_there_are_nine_operators_and_the_page_names_every_example() -> None:
    page = (EXAMPLES / "README.md").read_text()
    every = {test.parent.name for test in EXAMPLES.glob("*/test_*.py")}

    assert len(FOLDERS) == 9
    assert set(re.findall(r"^\| \[`([a-z-]+)`\]\(", page, re.MULTILINE)) == every


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_each_is_short_and_has_tests_and_a_manifest(folder: Path) -> None:
    assert lines_of(folder) <= 200
    assert (folder / f"test_{folder.name.replace('-', '_')}.py").exists()
    kinds = [manifest["kind"] for manifest in yaml.safe_load_all((folder / "manifest.yaml").read_text())]
    assert {"Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Deployment"} <= set(kinds)


def lines_of(folder: Path) -> int:
    """The lines of an operator that are not blank, without its tests."""
    modules = [path for path in folder.rglob("*.py") if not path.name.startswith("test_")]
    return sum(bool(line.strip()) for path in modules for line in path.read_text().splitlines())


def test_the_lines_of_the_backup_operator_are_as_told() -> None:
    page = (EXAMPLES.parent / "coming-from.md").read_text()

    (told,) = re.findall(r"^\| \*\*Python, without tests\*\* \| ([0-9]+) \|", page, re.MULTILINE)
    assert int(told) == lines_of(EXAMPLES / "backup")


def test_the_operators_beside_those_of_kopf_are_as_shown() -> None:
    folder = EXAMPLES / "page-probe"
    texts = [(folder / name).read_text() for name in ("page_probe.py", "operator_kopf.py")]
    (told,) = re.findall(
        r"^\| \*\*lines .*\*\* \| ([0-9]+) \| ([0-9]+) \|$", (folder / "README.md").read_text(), re.MULTILINE
    )
    page = (EXAMPLES.parent / "coming-from.md").read_text()
    (section,) = re.findall(r"^\*\*Side by side(.*?)^A daemon", page, re.MULTILINE | re.DOTALL)
    theirs, ours = re.findall(r"```py\n(.*?)```", section, re.DOTALL)

    assert [int(count) for count in told] == [sum(bool(line.strip()) for line in text.splitlines()) for text in texts]
    assert ours in texts[0]
    assert theirs in texts[1]
