"""What is in the wheel and the sdist."""

from __future__ import annotations

import re
import tarfile
import zipfile
from pathlib import Path

from tests.packaging.conftest import ROOT, Distributions, build


def names_in(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_the_wheel_has_all_modules_the_types_and_what_the_commands_need(distributions: Distributions) -> None:
    names = names_in(distributions.wheel)

    for base, package in ((ROOT, "kinformer"), (ROOT / "controllers", "kinformer_controllers")):
        files = {str(file.relative_to(base)) for file in (base / package).rglob("*.py*") if file.suffix != ".pyc"}
        assert files <= names
    assert {
        "kinformer/py.typed",
        "kinformer_controllers/py.typed",
        "kinformer/cli/examples/deployment.yaml",
        "kinformer/cli/examples/web.yaml",
        "kinformer/cli/new_operator/pyproject.toml",
        "kinformer/cli/new_operator/.gitignore",
        "kinformer/cli/new_operator/.github/workflows/ci.yaml",
        "kinformer/cli/new_operator/src/sample_operator/py.typed",
    } <= names


def test_the_wheel_has_nothing_else(distributions: Distributions) -> None:
    names = names_in(distributions.wheel)

    assert {name.partition("/")[0] for name in names if ".dist-info/" not in name} == {
        "kinformer",
        "kinformer_controllers",
    }
    assert [name for name in names if re.search(r"__pycache__|\.py[co]$|_cache/|\.venv|/\.env", name)] == []
    assert not any(name.startswith("kinformer/cli/examples/") and not name.endswith(".yaml") for name in names)


def test_the_wheel_made_from_the_sdist_is_the_same(distributions: Distributions, tmp_path: Path) -> None:
    with tarfile.open(distributions.sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()

    build(source, tmp_path / "dist", "-t", "wheel")

    (wheel,) = (tmp_path / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as again, zipfile.ZipFile(distributions.wheel) as first:
        assert {found.filename: found.CRC for found in again.infolist()} == {
            found.filename: found.CRC for found in first.infolist()
        }
