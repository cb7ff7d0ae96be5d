"""What ``suites.toml`` says: the suites, and the environments that they run in."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

__all__ = ("ENVIRONMENTS", "ROOT", "SUITES", "Suite", "Unavailable")

ROOT: Final = Path(__file__).parents[2]


class Unavailable(Exception):
    """A suite cannot be run here. The text says why."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Suite:
    """
    Tests of another project, or tests of this project that need another's package.

    :param shown: what the table calls it
    :param environment: one of ``ENVIRONMENTS``
    :param package: the sdist that has the tests
    :param archive: the address of the sources, if no sdist has the tests
    :param go: the Go packages of the programs that the tests start, with their version
    :param here: the folder or file of the tests, if they are this project's own. They start the servers that they need
    :param tests: the folder of the tests in the sources, if it goes among the environment's packages
    :param into: where there
    :param adapter: the folder of an example whose code runs in the tests
    :param install: the statements that put this code into the place of the original
    :param server: whether the tests need a server
    :param commands: whether commands in containers run on this machine. Else they echo
    :param kind: whether the tests make a cluster with pytest-kind
    :param stand_ins: programs that the tests look for. They do nothing, and succeed
    :param arguments: of pytest
    :param variables: of the environment
    :param left_out: which tests the arguments leave out, and why
    :param causes: why tests fail, by patterns for their names
    """

    name: str
    shown: str
    environment: str = "clients"
    package: str = ""
    archive: str = ""
    go: str = ""
    here: str = ""
    tests: str = ""
    into: str = ""
    adapter: str = ""
    install: str = ""
    server: bool = True
    commands: bool = False
    kind: bool = False
    stand_ins: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    variables: dict[str, str] = field(default_factory=dict)
    left_out: str = ""
    causes: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Environment:
    """
    :param packages: with their versions
    :param without_dependencies: packages of which only their own files are needed
    :param kinformer: whether this project is installed there, too
    """

    packages: tuple[str, ...]
    without_dependencies: tuple[str, ...] = ()
    kinformer: bool = False


_READ: dict[str, Any] = tomllib.loads(Path(__file__).with_name("suites.toml").read_text(encoding="utf-8"))
ENVIRONMENTS: Final = {name: Environment(**given) for name, given in _READ["environments"].items()}
SUITES: Final = {name: Suite(**{"name": name, "shown": name, **given}) for name, given in _READ["suites"].items()}
