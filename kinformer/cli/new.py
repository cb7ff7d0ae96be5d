"""``kinformer new``: make the project of a new operator. Its tests pass at once.

The project is made from a template: a folder with a complete operator for objects of the kind ``Sample``, which is
checked and tested like any other code. The names in it are replaced by the user's names. No existing file is
overwritten.
"""

from __future__ import annotations

import ast
import builtins
import keyword
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import click

__all__ = ("NewProjectError", "Project", "run")

#: The longest names: with these, names in the API and the lines of the template stay within their limits.
_LONGEST_NAME, _LONGEST_KIND = 40, 40

_NAME: Final = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*").fullmatch
_KIND: Final = re.compile(r"[A-Z][A-Za-z0-9]*").fullmatch
_PLURAL: Final = re.compile(r"[a-z][a-z0-9]*").fullmatch
_GROUP: Final = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+").fullmatch

#: The names in the template that are replaced, the longer ones first. ``registry.example.com`` is not replaced.
_PLACEHOLDERS: Final = re.compile(r"sample_operator|sample-operator|(?<!registry\.)example\.com|samples|sample|Sample")

#: Folders that tools make when somebody runs the template's own tests. They are not copied.
_LEFT_BEHIND: Final = re.compile(r"__pycache__|\..*_cache|dist|\.venv|.*\.egg-info").fullmatch


class NewProjectError(Exception):
    """A project cannot be made. The text says why, and what is wanted instead."""


@dataclass(frozen=True, slots=True)
class Project:
    """
    The names of a project.

    :param name: the name of the project, its namespace and its controller: ``shop-operator``
    :param kind: the kind of its objects: ``Shop``
    :param plural: the plural of the kind in URLs: ``shops``
    :param group: the API group of the kind: ``example.com``
    """

    name: str
    kind: str
    plural: str
    group: str

    @property
    def package(self) -> str:
        """The name of the Python package."""
        return self.name.replace("-", "_")

    @classmethod
    def named(cls, name: str, kind: str = "", plural: str = "", group: str = "example.com") -> Project:
        """
        A project of this name. An empty kind is made from the name, and an empty plural from the kind.

        :raises NewProjectError: if one of the names is not valid
        """
        if not _NAME(name) or len(name) > _LONGEST_NAME:
            raise NewProjectError(
                f"{name!r} is no name of an operator: want at most {_LONGEST_NAME} small letters, digits and single "
                "dashes, the first a letter, such as shop-operator"
            )
        kind = kind or "".join(part.capitalize() for part in re.sub(r"-(operator|controller)$", "", name).split("-"))
        kind = "MyResource" if kind == "My" else kind  # many people first try the name my-operator
        if not _KIND(kind) or len(kind) > _LONGEST_KIND:
            raise NewProjectError(
                f"{kind!r} is no kind: want at most {_LONGEST_KIND} letters and digits, the first one a capital: Shop"
            )
        plural = plural or _plural_of(kind.lower())
        if not _PLURAL(plural) or len(plural) > _LONGEST_KIND + 2:
            raise NewProjectError(f"{plural!r} is no plural: want small letters and digits, such as shops")
        if not _GROUP(group) or len(group) > 63:
            raise NewProjectError(f"{group!r} is no group of an API: want a domain, such as example.com")
        return cls(name, kind, plural, group)

    def rendered(self, text: str) -> str:
        """A text of the template with the names of this project."""
        names = {
            "sample_operator": self.package,
            "sample-operator": self.name,
            "example.com": self.group,
            "samples": self.plural,
            "sample": self.kind.lower(),
            "Sample": self.kind,
        }
        return _PLACEHOLDERS.sub(lambda found: names[found[0]], text)


async def run(*, name: str, kind: str, plural: str, group: str, directory: Path | None) -> int:
    """
    Make a project.

    :param name: the name of the project
    :param kind: the kind of its objects; made from the name if empty
    :param plural: the plural of the kind; made from the kind if empty
    :param group: the API group of the kind
    :param directory: the folder to make; if None, a folder with the project's name in the working directory. If the
        folder exists, it has to be empty
    :return: the exit status, 0
    :raises NewProjectError: if a name is not valid, or the folder is not empty
    """
    project = Project.named(name, kind, plural, group)
    target = directory or Path(name)
    template = _template()
    files = [file for file in sorted(template.rglob("*")) if file.is_file() and not _is_left_behind(file, template)]
    _check_free(project, [file.read_text(encoding="utf-8") for file in files if file.suffix == ".py"])
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise NewProjectError(f"{target} is there already, and nothing is overwritten: want a folder that is not")
    for file in files:
        made = target / project.rendered(str(file.relative_to(template)))
        made.parent.mkdir(parents=True, exist_ok=True)
        with made.open("x", encoding="utf-8") as out:
            out.write(project.rendered(file.read_text(encoding="utf-8")))
    click.echo(
        f"{target}: an operator for {project.kind} ({project.plural}.{project.group}). Next:\n"
        f"  cd {target} && python -m venv .venv && . .venv/bin/activate\n"
        "  pip install --editable '.[dev]' && pytest"
    )
    return 0


def _plural_of(word: str) -> str:
    """Guess the plural by simple rules, as kubebuilder does. The user gives any other plural by ``--plural``."""
    if re.search(r"(s|x|z|ch|sh)$", word):
        return f"{word}es"
    return f"{word[:-1]}ies" if re.search(r"[^aeiou]y$", word) else f"{word}s"


def _check_free(project: Project, modules: list[str]) -> None:
    """
    Check that the names of a project are not in use.

    :param modules: the texts of the template's Python modules
    :raises NewProjectError: if Python, an installed package or the template itself uses one of the names
    """
    package = project.package
    if keyword.iskeyword(package) or package in sys.stdlib_module_names or find_spec(package) is not None:
        raise NewProjectError(
            f"there is a module {package} already: want another name, such as {project.name}-operator"
        )
    words = {word for text in modules for word in _names_in(text) if not word.startswith("Sample")}
    made = [project.kind, f"{project.kind}Spec", f"{project.kind}Status", f"{project.kind}Reconciler"]
    taken = words | set(dir(builtins)) | set(keyword.kwlist)
    if clash := next((word for word in made if word in taken), None):
        raise NewProjectError(
            f"the kind {project.kind} would hide {clash}, which the project uses: want another one, by --kind"
        )


def _names_in(module: str) -> Iterator[str]:
    """The names that a module uses or imports."""
    for node in ast.walk(ast.parse(module)):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.alias):
            yield node.asname or node.name


def _is_left_behind(file: Path, template: Path) -> bool:
    return any(_LEFT_BEHIND(part) for part in file.relative_to(template).parts)


def _template() -> Path:
    """The template. The wheel has it beside this module; a checkout has it under ``templates``."""
    here = Path(__file__).resolve()
    for folder in (here.with_name("new_operator"), here.parents[2] / "templates" / "operator"):
        if folder.is_dir():
            return folder
    raise NewProjectError("the template is not installed: install kinformer from its wheel")
