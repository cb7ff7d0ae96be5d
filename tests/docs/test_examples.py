"""The examples: what they promise beside what their own tests show."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
FOLDERS = sorted(folder for folder in EXAMPLES.iterdir() if (folder / "manifest.yaml").exists())


def test_there_are_eight_operators_and_the_page_names_every_example() -> None:
    page = (EXAMPLES / "README.md").read_text()
    every = {test.parent.name for test in EXAMPLES.glob("*/test_*.py")}

    assert len(FOLDERS) == 8
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
