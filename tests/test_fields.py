"""Classes with many fields: each is taken apart, or a line above it says why not."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MOST = 15
SAYS_WHY = f"# More than {MOST} fields: "


def fields_of(class_: ast.ClassDef) -> set[str]:
    """Those that the class declares, with a type or with a value, and those that its methods set."""
    declared = {
        target.id
        for node in class_.body
        if isinstance(node, ast.AnnAssign | ast.Assign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name) and not target.id.startswith("__")
    }
    methods = [node for node in class_.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    written = {
        node.attr
        for method in methods
        for node in ast.walk(method)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
        if isinstance(node.value, ast.Name) and node.value.id == "self"
    }
    return declared | written


def bases_of(class_: ast.ClassDef, known: Mapping[str, ast.ClassDef]) -> list[ast.ClassDef]:
    """The bases that are classes of this project, found by their names."""
    names = [base.value if isinstance(base, ast.Subscript) else base for base in class_.bases]
    return [known[name.id] for name in names if isinstance(name, ast.Name) and known.get(name.id) not in (None, class_)]


def all_fields_of(class_: ast.ClassDef, known: Mapping[str, ast.ClassDef]) -> set[str]:
    """The fields of the class and of its bases."""
    return fields_of(class_).union(*(all_fields_of(base, known) for base in bases_of(class_, known)))


def classes(text: str) -> Iterator[tuple[ast.ClassDef, bool]]:
    """The classes of a module, and whether the line above each says why it has so many fields."""
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ClassDef):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            yield node, lines[first - 2].startswith(SAYS_WHY)


def wrong_classes(modules: Mapping[str, str]) -> set[str]:
    """
    The classes that have too many fields and do not say why, and those that say why without having them.

    Fields count with those of the bases. A class whose base has said why need not say it again, unless it has too many
    fields of its own.

    :param modules: the text of each module by its name
    """
    found = [
        (name, class_, says) for name, text in modules.items() if "class " in text for class_, says in classes(text)
    ]
    known = {class_.name: class_ for _, class_, _ in reversed(found)}
    wrong = set()
    for name, class_, says_why in found:
        count = len(all_fields_of(class_, known))
        told = any(len(all_fields_of(base, known)) > MOST for base in bases_of(class_, known))
        if (count > MOST and (not told or len(fields_of(class_)) > MOST)) is not says_why:
            wrong.add(f"{name}: {class_.name} has {count}")
    return wrong


def test_a_class_with_many_fields_says_why_and_no_other_does() -> None:
    modules = [*(ROOT / "kinformer").rglob("*.py"), *(ROOT / "controllers").rglob("*.py")]

    assert wrong_classes({str(module.relative_to(ROOT)): module.read_text() for module in modules}) == set()


@pytest.mark.parametrize(
    "text",
    [
        "class A:\n" + "".join(f"    f{n}: int\n" for n in range(16)),
        "class A:\n" + "".join(f"    f{n} = {n}\n" for n in range(16)),
        "class A:\n    def __init__(self):\n" + "".join(f"        self.f{n} = {n}\n" for n in range(16)),
        "class B:\n"
        + "".join(f"    f{n}: int\n" for n in range(8))
        + "class A(B):\n"
        + "".join(f"    g{n}: int\n" for n in range(8)),
        f"{SAYS_WHY}one would do.\nclass A:\n    f: int\n",
    ],
    ids=["declared", "set in the class", "set in a method", "in a base", "none, and says why"],
)
def test_fields_are_found_wherever_they_are_declared(text: str) -> None:
    assert [line.partition(" has ")[0] for line in wrong_classes({"module": text})] == ["module: A"]
