"""What a release refuses before it has done anything."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.packaging.conftest import ROOT, run


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """One whose tests fail: nothing is built in these."""
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "release", tmp_path / "scripts" / "release")
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "0.1.0"\n')
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## 0.1.0 (2026-12-01)\n")
    (tmp_path / "Makefile").write_text("test:\n\t@echo the tests fail; exit 1\n")
    run("git", "init", "-q", cwd=tmp_path)
    commit(tmp_path)
    return tmp_path


def commit(checkout: Path) -> None:
    run("git", "add", "-A", cwd=checkout)
    run("git", "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", "a", cwd=checkout)


def refused(checkout: Path, *arguments: str, token: str = "t") -> str:
    environment = {**os.environ, "UV_PUBLISH_TOKEN": token}
    done = subprocess.run(
        ["scripts/release", *arguments], cwd=checkout, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert not (checkout / "dist").exists()
    assert run("git", "tag", cwd=checkout) == ""
    return done.stdout + done.stderr


def test_it_wants_the_version_of_the_project(checkout: Path) -> None:
    assert "want scripts/release [--dry-run] VERSION" in refused(checkout)
    assert "v1 is no version: want one such as 1.2.3" in refused(checkout, "v1")
    assert "pyproject.toml has another version than 0.2.0" in refused(checkout, "0.2.0")


def test_it_wants_a_dated_section_of_the_changelog(checkout: Path) -> None:
    (checkout / "CHANGELOG.md").write_text("## 0.1.0 (unreleased)\n")

    assert "CHANGELOG.md has no section '## 0.1.0 (YYYY-MM-DD)'" in refused(checkout, "0.1.0")


def test_it_wants_everything_committed_and_a_token(checkout: Path) -> None:
    (checkout / "more").touch()
    assert "something is not committed" in refused(checkout, "0.1.0")

    commit(checkout)
    assert "UV_PUBLISH_TOKEN is empty: want a token" in refused(checkout, "0.1.0", token="")


def test_it_stops_where_the_tests_fail(checkout: Path) -> None:
    assert "the tests fail" in refused(checkout, "0.1.0")
    assert "the tests fail" in refused(checkout, "--dry-run", "0.1.0", token="")
