"""``kinformer crd``: prints the CustomResourceDefinitions of a package's custom resources, as YAML."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Sequence
from itertools import groupby
from types import ModuleType
from typing import Any

import click
import yaml

from kinformer.cli.modules import search_here
from kinformer.installed import module_of_path
from kinformer.models import resource_for, to_dict
from kinformer.operator import CustomResource, SchemaError, definition_of

__all__ = ("CrdError", "run")


class CrdError(Exception):
    """The definitions of a package cannot be made."""


async def run(*, packages: Sequence[str]) -> int:
    """
    Print the definitions of all custom resources that some packages or modules define.

    :param packages: the names of the packages or modules
    :raises CrdError: if one cannot be imported, there is no custom resource, or a definition cannot be made
    """
    search_here()
    modules = [module for name in packages for module in _modules(name)]
    found = _definitions_in(modules)
    if not found:
        raise CrdError(f"{', '.join(packages)} defines no custom resource: want a subclass of CustomResource")
    click.echo(yaml.safe_dump_all(found, sort_keys=False), nl=False)
    return 0


def _definitions_in(modules: Sequence[ModuleType]) -> list[dict[str, Any]]:
    """
    Make the definitions of the custom resources that some modules define, sorted by name. Custom resources that a
    module only imports are left out.

    :raises CrdError: if the definition of a class cannot be made; the text says why
    """
    types = {
        value
        for module in modules
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, CustomResource)
        and value.__module__ == module.__name__
        and getattr(value, "__resource__", None) is not None
    }

    def kind_of(type_: type[Any]) -> tuple[str, str]:
        info = resource_for(type_)
        return info.group, info.plural

    def place_of(type_: type[Any]) -> tuple[object, ...]:
        return *kind_of(type_), not type_.__definition__.storage, resource_for(type_).version

    ordered = sorted(types, key=place_of)
    try:
        return [to_dict(definition_of(*versions)) for _, versions in groupby(ordered, kind_of)]
    except (SchemaError, ValueError) as error:
        raise CrdError(str(error)) from error


def _modules(name: str) -> Iterator[ModuleType]:
    module = _imported(name)
    yield module
    for below in pkgutil.walk_packages(getattr(module, "__path__", ()), f"{name}."):
        if not below.name.endswith(".__main__"):
            yield _imported(below.name)


def _imported(name: str) -> ModuleType:
    if not name:
        raise CrdError("the name of the package is empty: want one, as in my_operator")
    if module := module_of_path(name):
        raise CrdError(f"{name} is a path: want the name of a module, as in {module}")
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = error.name or name
        if missing == name or name.startswith(f"{missing}."):
            raise CrdError(f"there is no module {name}: want one that can be imported from here") from error
        raise CrdError(f"{name} cannot be imported: it imports {missing}, and there is no such module") from error
    except Exception as error:
        raise CrdError(f"{name} cannot be imported: {type(error).__name__}: {error}") from error
