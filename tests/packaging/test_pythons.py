"""The wheel and the sdist, installed by pip with their dependencies, for each supported Python that the machine has."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.packaging.conftest import Distributions, run
from tests.packaging.test_installed import PROGRAM

#: What is installed for each. The wheel made from the sdist is the same for each Python, so one sdist is enough.
VERSIONS = {"3.11": "wheel", "3.12": "sdist", "3.13": "wheel", "3.14": "wheel"}
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check")


def python_of(version: str) -> Path:
    """An interpreter of a version, on the path or of pyenv; the test is skipped if there is none."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    on_path = shutil.which(f"python{version}")
    for candidate in (*sorted(pyenv.glob(f"{version}.*/bin/python")), *([Path(on_path)] if on_path else ())):
        tried = subprocess.run([candidate, "-c", ""], capture_output=True, check=False)
        if not tried.returncode:  # a shim of pyenv stands on the path also where it has no such version
            return candidate
    pytest.skip(f"there is no Python {version} here")


@pytest.fixture(scope="session")
def index(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Skip the tests that need the package index if it cannot be reached."""
    folder = tmp_path_factory.mktemp("index")
    reachable = subprocess.run(
        [*PIP, "install", "-q", "--retries", "1", "--target", folder, "idna"],
        capture_output=True,
        text=True,
        check=False,
    )
    if reachable.returncode:
        pytest.skip(f"the package index cannot be reached: {reachable.stderr.strip().splitlines()[-1]}")


@pytest.mark.installs
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("index")
@pytest.mark.parametrize(("version", "kind"), VERSIONS.items())
def test_it_installs_and_runs(version: str, kind: str, distributions: Distributions, tmp_path: Path) -> None:
    run(python_of(version), "-m", "venv", "--without-pip", tmp_path / "venv", cwd=tmp_path)
    installed = tmp_path / "venv" / "bin" / "python"

    # Byte code of all libraries takes half of the time, and says nothing about the installation.
    pip = (*PIP, "--python", installed, "install", "-q", "--retries", "1", "--no-compile")
    run(*pip, getattr(distributions, kind), cwd=tmp_path)

    (tmp_path / "program.py").write_text(PROGRAM)
    said = run(installed, tmp_path / "program.py", cwd=tmp_path).splitlines()
    assert said[0] == "a"
    assert said[1].startswith(str(tmp_path / "venv"))
    assert said[3] == "True"
    assert "kinformer" in run(installed.with_name("kinformer"), "--version", cwd=tmp_path)
