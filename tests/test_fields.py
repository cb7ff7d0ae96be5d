"""Classes with many fields: each is taken apart, or a line above it says why not."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
MOST = 15
SAYS_WHY = f"# More than {MOST} fields: "


def fields_of(class_: ast.ClassDef) -> set[str]:
    """Those that the class declares, and those that its methods set."""
    declared = {
        node.target.id for node in class_.body if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
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


def classes(text: str) -> Iterator[tuple[ast.ClassDef, bool]]:
    """The classes of a module, and whether the line above each says why it has so many fields."""
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ClassDef):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            yield node, lines[first - 2].startswith(SAYS_WHY)


def test_a_class_with_many_fields_says_why_and_no_other_does() -> None:
    modules = [*(ROOT / "kinformer").rglob("*.py"), *(ROOT / "controllers").rglob("*.py")]
    wrong = {
        f"{module.relative_to(ROOT)}: {class_.name} has {len(fields_of(class_))}"
        for module in modules
        if (text := module.read_text()) and "class " in text
        for class_, says_why in classes(text)
        if (len(fields_of(class_)) > MOST) is not says_why
    }

    assert wrong == set()
