"""The environments that the suites run in, and the sources of the suites."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
import urllib.request
import venv
from pathlib import Path
from typing import Final

from scripts.compat.suites import ENVIRONMENTS, ROOT, Suite, Unavailable

__all__ = ("BUILD", "go_programs", "make_environment", "unpacked")

BUILD: Final = ROOT / "build" / "compat"


def make_environment(name: str) -> Path:
    """
    Make an environment with its packages, unless it is there, and return its folder.

    :raises Unavailable: if a package cannot be installed
    """
    wanted = ENVIRONMENTS[name]
    folder = ROOT / ".venv-compat" / name
    stamp, text = folder / "packages", repr(wanted)
    if not (stamp.is_file() and stamp.read_text() == text):
        venv.create(folder, with_pip=True, clear=True)
        _pip(folder, "install", *wanted.packages, *(["--editable", f"{ROOT}[tls]"] if wanted.kinformer else []))
        if wanted.without_dependencies:
            _pip(folder, "install", "--no-deps", *wanted.without_dependencies)
        stamp.write_text(text)
    return folder


def _pip(folder: Path, *arguments: str) -> None:
    command = [str(folder / "bin" / "python"), "-m", "pip", "-q", "--disable-pip-version-check", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Unavailable(_last_words(done.stderr))


def _last_words(stderr: str) -> str:
    lines = stderr.strip().splitlines() or ["no reason given"]
    return next((line for line in reversed(lines) if line.startswith("ERROR")), lines[-1]).strip()


def unpacked(suite: Suite, environment: Path, sources: Path | None) -> Path:
    """
    Unpack the sources of a suite, and return their folder.

    :param sources: a folder that has the sources of suites, by name
    :raises Unavailable: if the sources cannot be fetched
    """
    folder = BUILD / suite.name
    shutil.rmtree(folder, ignore_errors=True)
    if sources is not None and (sources / suite.name).is_dir():
        shutil.copytree(sources / suite.name, folder)
        return folder
    archives = BUILD / "archives"
    archives.mkdir(parents=True, exist_ok=True)
    if suite.package:
        package, _, version = suite.package.partition("==")
        _pip(environment, "download", "--no-deps", "--no-binary", package, "--dest", str(archives), suite.package)
        archive = archives / f"{package.replace('-', '_')}-{version}.tar.gz"
    else:
        archive = archives / f"{suite.name}.tar.gz"
        try:
            with urllib.request.urlopen(suite.archive, timeout=60) as answer:
                archive.write_bytes(answer.read())
        except OSError as error:
            raise Unavailable(f"no sdist has its tests, and {suite.archive} was not fetched: {error}") from None
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    (only,) = folder.iterdir()
    return only


def go_programs(suite: Suite, sources: Path | None) -> Path:
    """
    Build the Go programs of a suite, and return the folder that has them.

    :param sources: a folder that has a Go module with these packages, by the suite's name. Otherwise Go downloads them
    :raises Unavailable: if there is no Go, or the programs cannot be built
    """
    if shutil.which("go") is None:
        raise Unavailable("there is no go here")
    folder = BUILD / suite.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    packages, _, version = suite.go.partition("@")
    wanted, where = [f"{package}@{version}" for package in packages.split()], folder
    command = ["go", "install", *wanted]
    if sources is not None and (sources / suite.name).is_dir():
        where = sources / suite.name
        command = ["go", "build", "-o", f"{folder}{os.sep}", *packages.split()]
    environment = {**os.environ, "GOBIN": str(folder)}
    done = subprocess.run(command, cwd=where, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Unavailable(f"{wanted[0]} was not built: {_last_words(done.stderr)}")
    return folder
