"""The tables of helpers leave no public name out, and name nothing that is not there."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import pytest

import kinformer.envtest
import kinformer.manager
import kinformer.operator
import kinformer.operator.webhooks

PAGE = (Path(__file__).parents[2] / "docs" / "operators.md").read_text()
PACKAGES = (kinformer.operator, kinformer.operator.webhooks, kinformer.manager, kinformer.envtest)


def rows() -> list[list[str]]:
    (section,) = re.findall(r"^## What each helper does\n(.*?)^## ", PAGE, re.MULTILINE | re.DOTALL)
    cells = [[cell.strip() for cell in row.strip("|").split(" | ")] for row in section.splitlines() if row[:2] == "| "]
    return [row for row in cells if row[0] != "helper"]


def helpers() -> set[str]:
    """The first word of each piece of code in the first column."""
    return {name for row in rows() for name in re.findall(r"`(\w+)", row[0])}


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_every_public_name_stands_beside_what_others_have(package: ModuleType) -> None:
    assert set(package.__all__) - helpers() == set()


def test_nothing_else_is_called_a_helper() -> None:
    public = {name for package in PACKAGES for name in package.__all__}

    assert helpers() - public == {"context", "kinformer"}  # context.recorder, kinformer crd


def test_each_row_says_something_of_both_others() -> None:
    assert len(rows()) > 30
    assert {row[0]: len(row) for row in rows() if len(row) != 4 or not all(row)} == {}
