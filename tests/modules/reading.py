"""What the checks of this folder need to know of a module, found in one walk through it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple

__all__ = ("LIBRARIES", "MOST", "SAYS_WHY", "Class", "Import", "Module", "read")

MOST = 15
SAYS_WHY = f"# More than {MOST} fields: "
LIBRARIES = frozenset(
    ("aiohttp", "anyio", "click", "kubernetes_asyncio", "msgspec", "prometheus_client", "rich", "structlog", "yaml")
)


class Import(NamedTuple):
    """
    :param source: a module
    :param name: the name that is imported from it; empty if it is the module itself
    :param called: the name that it gets
    """

    source: str
    name: str
    called: str


class Class(NamedTuple):
    """
    :param fields: those that the class declares, with a type or with a value, and those that its methods set
    :param bases: the names of its bases
    :param says_why: whether the line above it says why it has so many fields
    """

    name: str
    fields: frozenset[str]
    bases: list[str]
    says_why: bool


class Module(NamedTuple):
    """
    :param name: its dotted name
    :param is_package: whether it is the ``__init__`` of a package
    :param private: the private modules and names of libraries that it imports or names
    """

    name: str
    is_package: bool
    imports: list[Import]
    classes: list[Class]
    private: list[str]


def read(name: str, text: str, *, is_package: bool = False) -> Module:
    """
    :param name: the module's dotted name
    :param text: its source
    :param is_package: whether it is the ``__init__`` of a package
    """
    module = Module(name, is_package, [], [], [])
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Import():
                module.imports.extend(Import(alias.name, "", alias.name) for alias in node.names)
                module.private.extend(alias.name for alias in node.names if _is_private(alias.name))
            case ast.ImportFrom():
                source = _source(node, name, is_package)
                module.imports.extend(Import(source, alias.name, alias.asname or alias.name) for alias in node.names)
                names = [f"{source}.{alias.name}" for alias in node.names]
                module.private.extend(filter(_is_private, names))
            case ast.Attribute(value=ast.Name(id=library)) if library in LIBRARIES and node.attr.startswith("_"):
                module.private.extend(filter(_is_private, [f"{library}.{node.attr}"]))
            case ast.ClassDef():
                module.classes.append(_class(node, lines))
    return module


def _source(node: ast.ImportFrom, module: str, is_package: bool) -> str:
    """The module that names are imported from."""
    parts = module.split(".")
    up = node.level - is_package
    base = parts[: len(parts) - up] if node.level else []
    return ".".join(filter(None, (*base, node.module)))


def _is_private(name: str) -> bool:
    library, *parts = name.split(".")
    return library in LIBRARIES and any(part.startswith("_") and not part.startswith("__") for part in parts)


def _class(node: ast.ClassDef, lines: Sequence[str]) -> Class:
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    bases = [base.value if isinstance(base, ast.Subscript) else base for base in node.bases]
    names = [base.id for base in bases if isinstance(base, ast.Name)]
    return Class(node.name, frozenset(_fields(node)), names, lines[first - 2].startswith(SAYS_WHY))


def _fields(class_: ast.ClassDef) -> Iterator[str]:
    for node in class_.body:
        if isinstance(node, ast.AnnAssign | ast.Assign):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if isinstance(target, ast.Name) and not target.id.startswith("__"):
                    yield target.id
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for inner in ast.walk(node):
                match inner:
                    case ast.Attribute(value=ast.Name(id="self"), ctx=ast.Store()):
                        yield inner.attr
