"""Which versions of libraries are allowed."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.packaging.conftest import ROOT

LIBRARIES = frozenset(
    ("aiohttp", "anyio", "click", "kubernetes_asyncio", "msgspec", "prometheus_client", "rich", "structlog", "yaml")
)

#: Libraries whose insides are used, with the name to install each by.
INSIDES = {"aiohttp": "aiohttp", "kubernetes_asyncio": "kubernetes-asyncio"}


def project() -> dict[str, list[str] | dict[str, list[str]]]:
    found: dict[str, list[str] | dict[str, list[str]]] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return found


def private_parts_in(module: Path) -> Iterator[str]:
    """What a module imports, or names, of another library's private modules and names."""
    for node in ast.walk(ast.parse(module.read_text())):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            names = [f"{node.value.id}.{node.attr}"] if node.value.id in LIBRARIES else []
        for name in names:
            top, *parts = name.split(".")
            if top in LIBRARIES and any(part.startswith("_") and not part.startswith("__") for part in parts):
                yield name


def test_no_private_module_or_name_of_a_library_is_imported() -> None:
    modules = [*(ROOT / "kinformer").rglob("*.py"), *(ROOT / "controllers").rglob("*.py")]

    found = {f"{module.relative_to(ROOT)}: {name}" for module in modules for name in private_parts_in(module)}

    assert found == set()


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
