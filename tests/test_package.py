"""The package as a whole: what importing it costs and brings."""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys
from importlib.metadata import entry_points, version

import pytest

import kinformer
import kinformer_controllers

MODULES = sorted(
    module.name
    for package in (kinformer, kinformer_controllers)
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
)


def test_every_module_says_what_is_public_and_has_it() -> None:
    problems = []
    for name in MODULES:
        module = importlib.import_module(name)
        if not module.__doc__:
            problems.append(f"{name} has no docstring")
        public = getattr(module, "__all__", ())
        problems += [f"{name} has no {entry}" for entry in public if not hasattr(module, entry)]

    assert len(MODULES) > 500
    assert not problems, "\n".join(problems)


def test_importing_does_not_import_kubernetes_asyncio() -> None:
    code = "import sys, kinformer, kinformer.cache, kinformer.informers, kinformer.models"
    code += "; print('kubernetes_asyncio' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_no_module_for_users_needs_what_only_unix_has() -> None:
    code = "import sys; sys.modules.update(dict.fromkeys(('fcntl', 'grp', 'pwd', 'resource', 'termios')))"
    code += "; import kinformer.sync, kinformer.operator, kinformer.envtest.nodes, kinformer.simulation"

    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_controller_that_is_installed_can_be_loaded() -> None:
    for entry in entry_points(group="kinformer.controllers"):
        assert callable(entry.load()), entry.name


def test_the_package_knows_its_version() -> None:
    assert kinformer.__version__ == version("kinformer")
    with pytest.raises(AttributeError, match="module 'kinformer' has no attribute 'nothing'"):
        kinformer.nothing  # noqa: B018


def test_the_package_can_be_run() -> None:
    command = [sys.executable, "-m", "kinformer", "--version"]

    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert kinformer.__version__ in done.stdout
