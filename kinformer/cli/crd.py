"""``kinformer crd``: the CustomResourceDefinitions of a package's custom resources, as YAML to apply."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from types import ModuleType
from typing import Any

import click
import yaml

from kinformer.models import resource_for, to_dict
from kinformer.operator import CustomResource, SchemaError, definition_of

__all__ = ("CrdError", "definitions_in", "run")


class CrdError(Exception):
    """No definition can be made of what was named."""


async def run(*, packages: Sequence[str]) -> int:
    """
    Print the definitions of all custom resources that some packages or modules define.

    :raises CrdError: if one cannot be imported, none has a custom resource, or a class has no definition
    """
    # As `python -m` does it: a package need not be installed to be looked at.
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, here)
    modules = [module for name in packages for module in _modules(name)]
    found = definitions_in(modules)
    if not found:
        raise CrdError(f"{', '.join(packages)} defines no custom resource: want a subclass of CustomResource")
    click.echo(yaml.safe_dump_all(found, sort_keys=False), nl=False)
    return 0


def definitions_in(modules: Sequence[ModuleType]) -> list[dict[str, Any]]:
    """
    The definitions of the custom resources that modules define, in the order of their names. Those that a module only
    imports are left to the module that defines them.

    :raises CrdError: if a class has no definition; the text says why
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
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = error.name or name
        beside = "" if missing == name or name.startswith(f"{missing}.") else f" (it imports {missing})"
        raise CrdError(f"there is no module {name}{beside}: want one that can be imported from here") from error
    except Exception as error:
        raise CrdError(f"{name} cannot be imported: {type(error).__name__}: {error}") from error
