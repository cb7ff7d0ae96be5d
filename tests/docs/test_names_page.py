"""docs/names.md has each public name, and each one that the documentation uses."""

from __future__ import annotations

import importlib
import pkgutil
import re
from pathlib import Path

import kinformer
import kinformer.models
from scripts.names import MODULES, PAGE, names_text

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [page for page in (DOCS.parent / "README.md", *sorted(DOCS.glob("*.md"))) if page != PAGE]
#: Words, and a class of the reader's, that are also names in private modules.
WORDS = {"Delete", "FleetOptions", "Kind", "Path", "Program", "Running", "Sizes", "Stage", "Subject", "What"}


def public() -> set[str]:
    found: set[str] = set()
    for module in pkgutil.walk_packages(kinformer.__path__, "kinformer."):
        if not module.name.endswith("__main__"):
            found.update(getattr(importlib.import_module(module.name), "__all__", ()))
    return {name for name in found if re.match(r"[A-Z][a-z]+\w*$", name)} - set(dir(kinformer.models)) - WORDS


def test_it_is_made_from_the_packages() -> None:
    assert PAGE.read_text() == names_text(), "run python -m scripts.names"


def test_each_class_in_the_documentations_code_is_on_it_or_imported_there() -> None:
    listed = {name for module in MODULES for name in importlib.import_module(module).__all__}
    names, lost = public(), {}
    for page in PAGES:
        text = page.read_text()
        code = " ".join(re.findall(r"```py.*?```|`[^`\n]+`", text, re.DOTALL))
        imported = " ".join(re.findall(r"from kinformer[\w.]* import (?:\([^)]*\)|[^\n]*)|kinformer(?:\.\w+)+", text))
        used = names & set(re.findall(r"(?<![\w.])[A-Z]\w+", code))
        if missing := sorted(used - listed - set(re.findall(r"\w+", imported))):
            lost[page.name] = missing
    assert lost == {}
