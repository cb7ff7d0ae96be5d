"""Which versions of libraries are allowed."""

from __future__ import annotations

import tomllib

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.packaging.conftest import ROOT

#: Libraries whose insides are used, with the name to install each by.
INSIDES = {"aiohttp": "aiohttp", "kubernetes_asyncio": "kubernetes-asyncio"}


def project() -> dict[str, list[str] | dict[str, list[str]]]:
    found: dict[str, list[str] | dict[str, list[str]]] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return found


def test_libraries_whose_insides_are_used_have_an_upper_bound() -> None:
    dependencies = project()["dependencies"]
    bounds = {
        canonicalize_name(requirement.name): {one.operator for one in requirement.specifier}
        for requirement in map(Requirement, dependencies)
    }

    for name in INSIDES.values():
        assert "<" in bounds[canonicalize_name(name)], name


def test_every_extra_is_documented() -> None:
    page = (ROOT / "docs" / "versioning.md").read_text()
    extras = project()["optional-dependencies"]

    assert [name for name in extras if f"| `{name}` |" not in page] == []
