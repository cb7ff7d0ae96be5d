"""No modules import each other in a circle, also not for types only or inside functions, where Python allows it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tests.modules.reading import Module, read


class Graph:
    """
    The imports between some modules.

    A name that a package only re-exports counts as a name of the module that defines it. So a module may import what
    another module of its own package offers there, as long as no circle of definitions comes of it.
    """

    def __init__(self, modules: Iterable[Module]) -> None:
        self._modules = {module.name: module for module in modules}

    def _definer(self, module: str, name: str) -> str:
        """The module that defines a name which is imported from `module`."""
        seen = set()
        while name and self._modules[module].is_package and (module, name) not in seen:
            seen.add((module, name))
            for source, original, called in self._modules[module].imports:
                if called == name and source in self._modules:
                    module, name = source, original
                    break
            else:
                return f"{module}.{name}" if f"{module}.{name}" in self._modules else module
        return module

    def circles(self) -> list[list[str]]:
        """The groups of modules of which each imports all others, directly or through others of the group."""
        left = {
            name: {self._definer(source, what) for source, what, _ in module.imports if source in self._modules}
            - {name}
            for name, module in self._modules.items()
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


def test_no_modules_import_each_other_in_a_circle(modules: list[Module]) -> None:
    circles = Graph(modules).circles()

    assert not circles, "\n".join(" and ".join(circle) + " import each other" for circle in circles)


def test_circles_are_found_wherever_imports_can_hide() -> None:
    texts = {
        "p.a": "def late():\n    from p.b import B",
        "p.b": "if TYPE_CHECKING:\n    from p import A",
        "p.c": "from p import Bee",
        "p.d": "from . import e",
        "p.e": "import p.f",
        "p.f": "from .d import D\nfrom .c import C",
    }
    package = read("p", "from p.a import A\nfrom p.b import B as Bee", is_package=True)

    found = Graph([package, *(read(name, text) for name, text in texts.items())]).circles()

    assert found == [["p.a", "p.b"], ["p.d", "p.e", "p.f"]]
