"""A wheel and an sdist of this checkout, and the wheel in an environment where nothing else of the checkout is."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Distributions:
    wheel: Path
    sdist: Path


def run(*command: str | Path, cwd: Path) -> str:
    """What a command prints, or an assertion with what it said."""
    done = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def build(source: Path, target: Path, *what: str) -> None:
    """By the build backend, at the version that pyproject.toml names, which is installed: nothing is downloaded."""
    run(sys.executable, "-m", "hatchling", "build", "-d", target, *what, cwd=source)


@pytest.fixture(scope="session")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Distributions:
    target = tmp_path_factory.mktemp("dist")
    build(ROOT, target)
    (wheel,), (sdist,) = target.glob("*.whl"), target.glob("*.tar.gz")
    return Distributions(wheel, sdist)


@pytest.fixture(scope="session")
def installed(distributions: Distributions, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """
    The Python of an environment with the wheel.

    The libraries are those of the tests' own environment, by a path file: nothing is downloaded. The checkout, which is
    installed there as well, is not found by it, as path files are not read one by the other.
    """
    folder = tmp_path_factory.mktemp("environment")
    run(sys.executable, "-m", "venv", "--without-pip", folder, cwd=folder)
    python = folder / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check")
    run(*pip, "install", "-q", "--no-index", "--no-deps", distributions.wheel, cwd=folder)
    (site,) = folder.glob("lib/python*/site-packages")
    (site / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python
