"""What is pinned: by hashes, all that is needed, and at versions that pyproject.toml allows."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from scripts.lowest import lowest, requirements

ROOT = Path(__file__).parents[1]


def pinned() -> dict[str, tuple[str, int]]:
    """Of each package its version, and how many hashes there are."""
    found = {}
    for block in re.split(r"\n(?=\S)", (ROOT / "requirements.txt").read_text()):
        first = block.partition("\n")[0].rstrip("\\ ")
        requirement = Requirement(first)
        (version,) = requirement.specifier
        assert version.operator == "==", first
        found[canonicalize_name(requirement.name)] = (version.version, block.count("--hash=sha256:"))
    return found


def test_every_pinned_version_has_hashes() -> None:
    assert [name for name, (_, hashes) in pinned().items() if not hashes] == []


def test_all_that_is_asked_for_is_pinned() -> None:
    lines = (ROOT / "requirements.in").read_text().splitlines()
    asked = {canonicalize_name(Requirement(line).name) for line in lines if line and not line.startswith("#")}
    assert asked - set(pinned()) == set()


def test_pinned_versions_are_ones_that_the_package_allows() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    texts = [*project["dependencies"], *(text for extra in project["optional-dependencies"].values() for text in extra)]
    versions = pinned()
    wrong = [
        text
        for text in texts
        if (name := canonicalize_name(Requirement(text).name)) in versions
        and not Requirement(text).specifier.contains(versions[name][0])
    ]
    assert wrong == []


def test_the_lowest_version_is_the_lower_bound() -> None:
    assert lowest("aiohttp>=3.14.3,<4") == "aiohttp==3.14.3"
    assert lowest("a[x]>=1; python_version < '4'") == 'a[x]==1; python_version < "4"'
    with pytest.raises(ValueError, match="a<2: no lower bound"):
        lowest("a<2")
    assert all("==" in text for text in requirements())
