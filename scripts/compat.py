"""Run the test suites of other projects against the embedded server: ``make compat``.

    python -m scripts.compat [--sources FOLDER] [--write] [SUITE …]

``compat.toml`` lists the suites, with the causes of the failures that are known. The suites run in an environment of
their own, ``.venv-compat``, with pinned versions. Each has a server of its own, with all controllers. A suite that is
not available is skipped, and the table says why. If a test fails for which there is no cause, the exit code is 1.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import time
import tomllib
import urllib.request
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

__all__ = ("Outcome", "main", "read_report", "with_table")

_ROOT: Final = Path(__file__).parents[1]
_SUITES: Final = tomllib.loads((_ROOT / "scripts" / "compat.toml").read_text(encoding="utf-8"))
_VENV: Final = _ROOT / ".venv-compat"
_BUILD: Final = _ROOT / "build" / "compat"
_PAGE: Final = _ROOT / "docs" / "other-clients.md"
#: How the table in that page begins.
_TABLE: Final = "| suite | passed |"
#: Seconds: the longest run of a suite, and the longest start of a server.
_LIMIT: Final = 1800
_START_WITHIN: Final = 60
#: The versions that pytest-kind downloads, unless they are there.
_KIND, _KUBECTL = "kind-v0.17.0", "kubectl-v1.25.3"


class Unavailable(Exception):
    """A suite cannot be run here. The text says why."""


@dataclass(slots=True)
class Outcome:
    """
    The result of a suite.

    :param causes: the failed tests, by the cause that ``compat.toml`` gives
    :param unexplained: the failed tests without a cause
    :param outdated: the patterns of causes that match no failed test
    :param why_not: why the suite was not run; empty if it was
    """

    passed: int = 0
    skipped: int = 0
    causes: dict[str, list[str]] = field(default_factory=dict)
    unexplained: list[str] = field(default_factory=list)
    outdated: list[str] = field(default_factory=list)
    why_not: str = ""

    @property
    def failed(self) -> int:
        return len(self.unexplained) + sum(map(len, self.causes.values()))


def main(arguments: list[str] | None = None) -> int:
    """Run the suites, print the table, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m scripts.compat", description=__doc__.partition("\n")[0])
    parser.add_argument(
        "suites", nargs="*", metavar="SUITE", help=f"of {', '.join(_SUITES['suites'])}; all if not given"
    )
    parser.add_argument("--sources", type=Path, help="a folder that has the projects' sources, by suite")
    parser.add_argument("--write", action="store_true", help=f"write the table into {_PAGE.relative_to(_ROOT)}")
    given = parser.parse_args(arguments)
    if given.write and given.suites:
        parser.error("--write needs the results of all suites")
    if unknown := [name for name in given.suites if name not in _SUITES["suites"]]:
        parser.error(f"there is no suite {unknown[0]!r}: want one of {', '.join(_SUITES['suites'])}")
    outcomes = {name: _outcome(name, given.sources) for name in given.suites or _SUITES["suites"]}
    rows = (_row(name, outcome) for name, outcome in outcomes.items())
    table = "".join(f"{row}\n" for row in (f"{_TABLE} failed | skipped | why |", "|---|---|---|---|---|", *rows))
    sys.stdout.write(table)
    if given.write:
        _PAGE.write_text(with_table(_PAGE.read_text(encoding="utf-8"), table), encoding="utf-8")
    for name, outcome in outcomes.items():
        for test in outcome.unexplained:
            sys.stdout.write(f"{name}: {test} failed, and scripts/compat.toml has no cause for it\n")
        for pattern in outcome.outdated:
            sys.stdout.write(f"{name}: no test that matches {pattern} has failed\n")
    return int(any(outcome.unexplained for outcome in outcomes.values()))


def with_table(page: str, table: str) -> str:
    """The page with another table of results."""
    before, _, after = page.partition(_TABLE)
    _, blank, after = after.partition("\n\n")
    return f"{before}{table.rstrip()}{blank}{after}"


def _row(name: str, outcome: Outcome) -> str:
    suite = _SUITES["suites"][name]
    shown = suite.get("package", f"{name}, {suite.get('archive', '').rpartition('/')[2].removesuffix('.tar.gz')}")
    if outcome.why_not:
        return f"| {shown} | | | | skipped: {outcome.why_not} |"
    why = [f"{len(tests)}: {cause}" for cause, tests in outcome.causes.items()]
    return f"| {shown} | {outcome.passed} | {outcome.failed} | {outcome.skipped} | {'<br>'.join(why)} |"


def _outcome(name: str, sources: Path | None) -> Outcome:
    suite = _SUITES["suites"][name]
    try:
        if "why_not" in suite:
            raise Unavailable(suite["why_not"])
        _make_environment()
        return _run(name, suite, _unpacked(name, suite, sources))
    except Unavailable as error:
        return Outcome(why_not=str(error))


# -- what is needed ------------------------------------------------------------------------------------------------


def _make_environment() -> None:
    if shutil.which("kubectl") is None:
        raise Unavailable("there is no kubectl here")
    stamp, wanted = _VENV / "packages", "\n".join(_SUITES["environment"]["packages"])
    if stamp.is_file() and stamp.read_text() == wanted:
        return
    venv.create(_VENV, with_pip=True, clear=True)
    _pip("install", *_SUITES["environment"]["packages"])
    stamp.write_text(wanted)


def _pip(*arguments: str) -> None:
    command = [str(_VENV / "bin" / "python"), "-m", "pip", "-q", "--disable-pip-version-check", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        raise Unavailable((errors or done.stderr.splitlines() or ["pip failed"])[-1].strip())


def _unpacked(name: str, suite: dict[str, Any], sources: Path | None) -> Path:
    """Unpack the sources of a suite, and return their folder."""
    folder = _BUILD / name
    shutil.rmtree(folder, ignore_errors=True)
    if sources is not None and (sources / name).is_dir():
        shutil.copytree(sources / name, folder)
        return folder
    archives = _BUILD / "archives"
    archives.mkdir(parents=True, exist_ok=True)
    if "package" in suite:
        package, _, version = suite["package"].partition("==")
        _pip("download", "--no-deps", "--no-binary", package, "--dest", str(archives), suite["package"])
        archive = archives / f"{package.replace('-', '_')}-{version}.tar.gz"
    else:
        archive = archives / f"{name}.tar.gz"
        try:
            with urllib.request.urlopen(suite["archive"], timeout=60) as answer:
                archive.write_bytes(answer.read())
        except OSError as error:
            raise Unavailable(f"no sdist has its tests, and {suite['archive']} was not fetched: {error}") from None
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    (unpacked,) = folder.iterdir()
    return unpacked


# -- a run -----------------------------------------------------------------------------------------------------------


def _run(name: str, suite: dict[str, Any], folder: Path) -> Outcome:
    report, log = _BUILD / f"{name}.xml", _BUILD / f"{name}.log"
    report.unlink(missing_ok=True)
    if "into" in suite:
        (packages,) = _VENV.glob("lib/python*/site-packages")
        shutil.copytree(folder / suite["tests"], packages / suite["into"], dirs_exist_ok=True)
        folder = folder / "empty"  # so that nothing there is imported in the place of the packages
        folder.mkdir()
    if not (folder / "pyproject.toml").is_file():
        (folder / "pytest.ini").write_text("[pytest]\n")  # or pytest would take this project's settings
    place = folder / ".pytest-kind" / "pytest-kind"
    place.mkdir(parents=True, exist_ok=True)
    kubeconfig = place / "kubeconfig"
    with _serving(kubeconfig, _BUILD / f"{name}-server.log", commands=suite.get("commands", False)):
        if suite.get("kind"):
            _stand_in_for_kind(place)
        python = str(_VENV / "bin" / "python")
        command = [python, "-m", "pytest", "-p", "no:cacheprovider", f"--junitxml={report}"]
        path = f"{_VENV / 'bin'}{os.pathsep}{os.environ['PATH']}"
        with log.open("w") as output:
            environment = {**os.environ, "KUBECONFIG": str(kubeconfig), "PATH": path, "HOME": str(folder)}
            try:
                subprocess.run(
                    [*command, *suite["arguments"]],
                    cwd=folder,
                    env=environment,
                    stdout=output,
                    stderr=output,
                    check=False,
                    timeout=_LIMIT,
                )
            except subprocess.TimeoutExpired:
                raise Unavailable(f"it took longer than {_LIMIT} s") from None
    if not report.is_file():
        raise Unavailable(f"pytest did not run: see {log}")
    return read_report(report, suite.get("causes", {}))


def _stand_in_for_kind(place: Path) -> None:
    """Let pytest-kind find its cluster: a `kind` that knows it, and this machine's kubectl."""
    kind, kubectl = place / _KIND, place / _KUBECTL
    kind.write_text("#!/bin/sh\necho pytest-kind\n")
    kind.chmod(0o755)
    found = shutil.which("kubectl")
    assert found is not None
    kubectl.unlink(missing_ok=True)
    kubectl.symlink_to(found)


@contextmanager
def _serving(kubeconfig: Path, log: Path, *, commands: bool) -> Iterator[None]:
    """
    Run a server like a cluster, with all controllers.

    :param commands: whether commands in containers run on this machine
    """
    own = str(Path(sys.executable).with_name("kinformer"))
    like_a_cluster = ("--tls", "--certificate", "--system-pods", "--fake-nodes=3", "--with-manager")
    program = [own, "apiserver", "--port=0", f"--kubeconfig-out={kubeconfig}", *like_a_cluster]
    if commands:
        program = [sys.executable, "-m", "scripts.compat_server", str(kubeconfig)]
    kubeconfig.unlink(missing_ok=True)
    with log.open("w") as output:
        processes = [subprocess.Popen(program, cwd=_ROOT, stdout=output, stderr=output)]
        try:
            _wait_for(kubeconfig.is_file, processes[0], "the server did not start")
            manager = [own, "manager", "--controllers=builtin", f"--kubeconfig={kubeconfig}"]
            processes.append(subprocess.Popen(manager, stdout=output, stderr=output))
            account = ["kubectl", f"--kubeconfig={kubeconfig}", "get", "serviceaccount", "default"]
            quiet = subprocess.DEVNULL
            _wait_for(
                lambda: not subprocess.run(account, stdout=quiet, stderr=quiet, check=False).returncode,
                processes[1],
                "the controllers did not start",
            )
            yield
        finally:
            for process in reversed(processes):
                process.terminate()
                process.wait()


def _wait_for(holds: Any, process: subprocess.Popen[bytes], otherwise: str) -> None:
    until = time.monotonic() + _START_WITHIN
    while not holds():
        if process.poll() is not None or time.monotonic() > until:
            raise Unavailable(otherwise)
        time.sleep(0.2)


def read_report(report: Path, causes: dict[str, str]) -> Outcome:
    """
    Judge a run by pytest's report.

    :param causes: why tests fail, by patterns for their names
    """
    outcome = Outcome()
    seen: set[str] = set()
    failed: set[tuple[str, str]] = set()
    for case in ElementTree.parse(report).iter("testcase"):
        test = case.get("name", "")
        results = {part.tag for part in case} & {"failure", "error", "skipped"}
        if not results:
            outcome.passed += 1
        elif results == {"skipped"}:
            outcome.skipped += 1
        elif (case.get("classname", ""), test) not in failed:  # a test that fails may have an error in its teardown too
            failed.add((case.get("classname", ""), test))
            pattern = next((it for it in causes if fnmatchcase(test.replace("[", "("), it)), None)
            if pattern is None:
                outcome.unexplained.append(test)
            else:
                seen.add(pattern)
                outcome.causes.setdefault(causes[pattern], []).append(test)
    outcome.outdated = [pattern for pattern in causes if pattern not in seen]
    return outcome


if __name__ == "__main__":
    sys.exit(main())
