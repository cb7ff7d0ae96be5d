"""No modules import each other in a circle, also not for types only or inside functions, where Python allows it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import kinformer
import kinformer_controllers

#: A module by its dotted name, and whether it is the ``__init__`` of a package.
Sources = Mapping[str, tuple[str, bool]]


class Graph:
    """
    The imports between some modules.

    A name that a package only re-exports counts as a name of the module that defines it. So a module may import what
    another module of its own package offers there, as long as no circle of definitions comes of it.
    """

    def __init__(self, sources: Sources) -> None:
        self._packages = {name for name, (_, is_package) in sources.items() if is_package}
        self._imports = {name: list(self._imports_of(name, text)) for name, (text, _) in sources.items()}

    def _imports_of(self, module: str, text: str) -> Iterator[tuple[str, str, str]]:
        """Each import in the module: a module, the name that is imported from it or ``""``, and the name it gets."""
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                yield from ((alias.name, "", alias.name) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                parts = module.split(".")
                up = node.level - (module in self._packages)
                base = ".".join(parts[: len(parts) - up]) if node.level else ""
                source = ".".join(filter(None, (base, node.module)))
                yield from ((source, alias.name, alias.asname or alias.name) for alias in node.names)

    def _definer(self, module: str, name: str) -> str:
        """The module that defines a name which is imported from `module`."""
        seen = set()
        while name and module in self._packages and (module, name) not in seen:
            seen.add((module, name))
            for source, original, called in self._imports[module]:
                if called == name and source in self._imports:
                    module, name = source, original
                    break
            else:
                return f"{module}.{name}" if f"{module}.{name}" in self._imports else module
        return module

    def circles(self) -> list[list[str]]:
        """The groups of modules of which each imports all others, directly or through others of the group."""
        left = {
            module: {self._definer(source, name) for source, name, _ in imports if source in self._imports} - {module}
            for module, imports in self._imports.items()
        }
        while ends := {module for module, imported in left.items() if imported.isdisjoint(left)}:
            left = {module: imported for module, imported in left.items() if module not in ends}
        reached = {module: _reached(module, left) for module in left}
        groups = {frozenset(other for other in reached[module] if module in reached[other]) for module in left}
        return sorted(sorted(group) for group in groups if group)


def _reached(module: str, imports: Mapping[str, set[str]]) -> set[str]:
    found: set[str] = set()
    waiting = [module]
    while waiting:
        new = (imports[waiting.pop()] & imports.keys()) - found
        found |= new
        waiting += new
    return found


def _sources() -> Iterator[tuple[str, tuple[str, bool]]]:
    for package in (kinformer, kinformer_controllers):
        root = Path(package.__path__[0])
        for path in root.rglob("*.py"):
            parts = (root.name, *path.relative_to(root).with_suffix("").parts)
            is_package = parts[-1] == "__init__"
            yield ".".join(parts[:-1] if is_package else parts), (path.read_text(encoding="utf-8"), is_package)


def test_no_modules_import_each_other_in_a_circle() -> None:
    sources = dict(_sources())
    circles = Graph(sources).circles()

    assert len(sources) > 500
    assert not circles, "\n".join(" and ".join(circle) + " import each other" for circle in circles)


def test_circles_are_found_wherever_imports_can_hide() -> None:
    sources = {
        "p": ("from p.a import A\nfrom p.b import B as Bee", True),
        "p.a": ("def late():\n    from p.b import B", False),
        "p.b": ("if TYPE_CHECKING:\n    from p import A", False),
        "p.c": ("from p import Bee", False),
        "p.d": ("from . import e", False),
        "p.e": ("import p.f", False),
        "p.f": ("from .d import D\nfrom .c import C", False),
    }

    assert Graph(sources).circles() == [["p.a", "p.b"], ["p.d", "p.e", "p.f"]]
