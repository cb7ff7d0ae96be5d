"""The reference's pages: one for each public package and module, and one for each name in its `__all__`.

They are made before Sphinx reads anything, into docs/reference, which is not under version control. A page that has not
changed is not written again, so that Sphinx does not read it again.

A name that two packages give has its page where it is defined; the other package's list links there. Constants and type
aliases have no docstrings: their text is the ``#:`` comment in front of them.

The pages of names are not in the tree of contents: the theme would repeat hundreds of them beside every page.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer
from sphinx.util.typing import ExtensionMetadata

import kinformer
from kinformer.models._source import model_names

#: Programs, not libraries: their options are described by their pages and by --help.
PROGRAMS = ("kinformer.cli.", "kinformer.bench.")
FIRST_SENTENCE = re.compile(r".*?[.:](?=\s|$)", re.DOTALL)


@cache
def public_modules() -> tuple[ModuleType, ...]:
    """
    The packages that say what is public in them, and the modules that stand beside them.

    A module within such a package is not one of them: what is public of it is the package's. A package without an
    ``__all__``, such as ``kinformer.placement``, has its modules here instead.
    """
    return tuple(_public_modules())


def _public_modules() -> Iterator[ModuleType]:
    packages = set()
    for found in pkgutil.walk_packages(kinformer.__path__, "kinformer."):
        package, _, own_name = found.name.rpartition(".")
        if f"{found.name}.".startswith(PROGRAMS) or own_name == "__main__":
            continue
        if not found.ispkg and (package in packages or package.count(".") > 1):
            continue
        module = importlib.import_module(found.name)
        if not getattr(module, "__all__", None):
            continue
        if found.ispkg:
            packages.add(found.name)
        yield module


def names_of(module: ModuleType) -> list[str]:
    """The public names that have a page. The models have none: editors show their attributes."""
    return [name for name in module.__all__ if name not in model_names()]


def home_of(module: ModuleType, name: str) -> str:
    """The page that describes a name: of the innermost public package that gives it and is around its definition."""
    defined = getattr(getattr(module, name), "__module__", None) or ""
    homes = [
        other.__name__
        for other in public_modules()
        if name in other.__all__ and f"{defined}.".startswith(f"{other.__name__}.")
    ]
    return max(homes, key=len, default=module.__name__)


def kind_of(value: object) -> str:
    if inspect.isclass(value):
        return "exception" if issubclass(value, BaseException) else "class"
    return "function" if inspect.isroutine(value) else "data"


def comment_on(module: ModuleType, name: str) -> list[str]:
    """What the ``#:`` comment says, in the module that the package has the name from."""
    origin = module.__name__
    for statement in ast.parse(inspect.getsource(module)).body:
        if isinstance(statement, ast.ImportFrom) and any((a.asname or a.name) == name for a in statement.names):
            origin = statement.module or origin
    comments: dict[tuple[str, str], list[str]] = ModuleAnalyzer.for_module(origin).find_attr_docs()
    return comments.get(("", name), [])


def entry(module: ModuleType, name: str) -> tuple[str, list[str]]:
    """A name's line in the list at the top of its page, and its description."""
    value = getattr(module, name)
    kind = kind_of(value)
    home = home_of(module, name)
    if kind == "data":
        text = comment_on(module, name)
        description = [f".. py:data:: {name}", "", *(f"   {line}" for line in text), ""]
    else:
        text = (inspect.getdoc(value) or "").splitlines()
        bare = kind != "function" and getattr(value, "__bases__", ()) == (object,)
        description = [f".. auto{kind}:: {name}", *(["   :no-show-inheritance:"] if bare else []), ""]
    sentence = FIRST_SENTENCE.match("\n".join(text))
    said = " ".join(sentence[0].split()) if sentence else ""
    line = f"* :py:obj:`{name} <{home}.{name}>`" + (f": {said[:1].lower()}{said[1:].rstrip(':')}" if said else "")
    return line, description if home == module.__name__ else []


def page_of(module: ModuleType) -> str:
    """A package's page: what it is for, and a list of its names."""
    title = module.__name__
    lines = [title, "=" * len(title), "", f".. automodule:: {title}", "   :no-members:", ""]
    lines += [f".. currentmodule:: {title}", "", *(entry(module, name)[0] for name in names_of(module)), ""]
    return "\n".join(lines)


def pages_of_names(module: ModuleType) -> dict[str, str]:
    """The page of each name that has its home here, by the page's own name."""
    pages = {}
    for name in names_of(module):
        _, description = entry(module, name)
        if description:
            head = [":orphan:", "", name, "=" * len(name), "", f"In :doc:`{module.__name__}`.", ""]
            lines = [*head, f".. currentmodule:: {module.__name__}", "", *description]
            pages[f"{module.__name__}.{name}"] = "\n".join(lines)
    return pages


def index_of(names: list[str]) -> str:
    listed = "\n".join(f"   {name}" for name in names)
    return f"Reference\n=========\n\nEvery public name, by package.\n\n.. toctree::\n\n{listed}\n"


def write_pages(app: Sphinx) -> None:
    folder = app.srcdir / "reference"
    folder.mkdir(exist_ok=True)
    modules = list(public_modules())
    pages = {module.__name__: page_of(module) for module in modules}
    pages["index"] = index_of(sorted(pages))
    for module in modules:
        pages |= pages_of_names(module)
    for name, text in pages.items():
        page = Path(folder / f"{name}.rst")
        if not page.exists() or page.read_text() != text:
            page.write_text(text)
    for page in folder.glob("*.rst"):
        if page.name.removesuffix(".rst") not in pages:
            page.unlink()


def leave_members_out_of_contents(app: Sphinx, document: nodes.document) -> None:
    """Methods and attributes are not named in the lists of contents: each page would carry thousands of them."""
    for outer in document.findall(addnodes.desc_content):
        for signature in outer.findall(addnodes.desc_signature):
            signature["_toc_name"] = ""


#: The tree of contents, as HTML, by what the theme asks for.
_contents: dict[str, str] = {}


def share_contents(app: Sphinx, page: str, template: str, context: dict[str, Any], document: object) -> None:
    """
    Make the tree of contents once for all pages of names: they are in one folder, and in no tree.

    The tree takes longer than all else of such a page.
    """
    if not page.startswith("reference/") or "orphan" not in app.env.metadata[page]:
        return
    original = context["toctree"]

    def toctree(**options: object) -> str:
        asked = repr(sorted(options.items()))
        if asked not in _contents:
            _contents[asked] = original(**options)
        return _contents[asked]

    context["toctree"] = toctree


def setup(app: Sphinx) -> ExtensionMetadata:
    app.connect("builder-inited", write_pages)
    app.connect("html-page-context", share_contents, priority=100)
    app.connect("doctree-read", leave_members_out_of_contents, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


__all__ = ("public_modules", "setup")
