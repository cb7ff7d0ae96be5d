"""The examples: what they promise beside what their own tests show."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
FOLDERS = sorted(folder for folder in EXAMPLES.iterdir() if (folder / "manifest.yaml").exists())


def test_there_are_six_and_the_page_names_each() -> None:
    page = (EXAMPLES / "README.md").read_text()

    assert len(FOLDERS) == 6
    assert set(re.findall(r"^\| \[`([a-z-]+)`\]\(", page, re.MULTILINE)) == {folder.name for folder in FOLDERS}


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_each_is_a_short_module_with_tests_and_a_manifest(folder: Path) -> None:
    name = folder.name.replace("-", "_")

    assert len((folder / f"{name}.py").read_text().splitlines()) < 150
    assert (folder / f"test_{name}.py").exists()
    kinds = [manifest["kind"] for manifest in yaml.safe_load_all((folder / "manifest.yaml").read_text())]
    assert {"Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Deployment"} <= set(kinds)
