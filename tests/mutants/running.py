"""Running the tests that belong to a package against mutants of its modules.

The checkout is copied, so that nobody works on code with mistakes in it. The copy comes first on the path of each run,
before the package that is installed. Byte code is kept in the copy: a run compiles the module that was changed, and
nothing else.
"""

from __future__ import annotations

import itertools
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.mutants.operators import Mutant

__all__ = ("AREAS", "ROOT", "Area", "Copy", "NotGreen", "Outcome", "killer")

ROOT: Final = Path(__file__).parents[2]
#: What a run needs of the checkout.
_NEEDED: Final = ("kinformer", "controllers", "tests", "docs", "templates", "pyproject.toml", "README.md", "Makefile")
#: A mutant that goes on for so many times as long as the tests without it does not end.
_LONGER: Final = 10.0
#: Seconds that a run may take in any case.
_AT_LEAST: Final = 60.0
#: Tests of a package that may fail without a mutant. They are left out, and their names are printed.
_FLAKY: Final = 3
#: Bytes of memory that a run may have: some mutants collect without end.
_MEMORY: Final = 4 * 2**30


class NotGreen(Exception):
    """Many tests of a package fail without a mutant. The text has their output."""


@dataclass(frozen=True, slots=True)
class Area:
    """
    A package, and the tests that belong to it.

    :param package: its folder
    :param tests: a folder of tests
    """

    package: str
    tests: str

    def modules(self) -> list[Path]:
        return sorted(path for path in (ROOT / self.package).rglob("*.py") if path.name != "__init__.py")


AREAS: Final = (
    *(Area(f"kinformer/{name}", f"tests/{name}") for name in ("cache", "workqueue", "controllerutil", "manager")),
    Area("kinformer/operator", "tests/operator"),
    *(
        Area(f"controllers/kinformer_controllers/{name}", f"tests/controllers/{name}")
        for name in ("replicationcontroller", "deployment", "job", "statefulset", "garbagecollector")
    ),
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """
    :param killed_by: the test that failed, or how the run ended otherwise; empty if the mutant survived
    :param seconds: what the run took
    """

    path: str
    mutant: Mutant
    killed_by: str
    seconds: float


class Copy:
    """
    A copy of the checkout in which one mutant at a time is tried.

    :param folder: where it is made; what is there is removed
    """

    def __init__(self, folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for name in _NEEDED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
            elif source.exists():
                shutil.copy2(source, folder / name)
        self._folder = folder
        self._limits: dict[Area, float] = {}
        self._left_out: dict[Area, list[str]] = {}
        self._times = itertools.count(int(time.time()) + 1)

    def try_mutant(self, area: Area, path: Path, mutant: Mutant) -> Outcome:
        """
        :param path: the module in the checkout
        :raises NotGreen: if the tests fail without the mutant
        """
        limit = self._limit(area)
        module = self._folder / path.relative_to(ROOT)
        before, began = module.read_bytes(), time.monotonic()
        kept = module.stat()
        module.write_text(mutant.applied(before.decode()))
        # Byte code is found old by whole seconds of this time.
        moment = next(self._times)
        os.utime(module, (moment, moment))
        try:
            killed_by = ""
            for tests in self._stages(area, path):
                status, output = self._run(["-x", *tests, *self._left_out[area]], limit)
                killed_by = killer(status, output)
                if killed_by:
                    break
        finally:
            module.write_bytes(before)
            os.utime(module, ns=(kept.st_atime_ns, kept.st_mtime_ns))
        return Outcome(str(path.relative_to(ROOT)), mutant, killed_by, time.monotonic() - began)

    def _stages(self, area: Area, path: Path) -> Iterator[Sequence[str]]:
        """The file of tests that has the module's name comes first: it finds most, and soon."""
        own = sorted(
            str(found.relative_to(self._folder))
            for found in (self._folder / area.tests).rglob("test_*.py")
            if path.stem in (found.stem.removeprefix("test_"), f"{found.stem.removeprefix('test_')}s")
        )
        if own:
            yield own
        yield [area.tests, *(f"--ignore={name}" for name in own)]

    def _limit(self, area: Area) -> float:
        if area not in self._limits:
            began = time.monotonic()
            status, output = self._run([area.tests], None)
            failed = [line.split(" ", 2)[1] for line in output.splitlines() if line.startswith("FAILED ")]
            if status and not 0 < len(failed) <= _FLAKY:
                raise NotGreen(f"{area.tests} fails without any mutant:\n{output}")
            self._left_out[area] = [f"--deselect={test}" for test in failed]
            for test in failed:
                print(f"left out, because it fails without any mutant: {test}", flush=True)
            self._limits[area] = max((time.monotonic() - began) * _LONGER, _AT_LEAST)
        return self._limits[area]

    def _run(self, arguments: Sequence[str], limit: float | None) -> tuple[int | None, str]:
        """The status, None if the time was over, and what was printed."""
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--no-header", *arguments]
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environment["PYTHONPATH"] = os.pathsep.join([str(self._folder), str(self._folder / "controllers")])
        with subprocess.Popen(
            command,
            cwd=self._folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
            preexec_fn=_limited,
        ) as process:
            try:
                output, _ = process.communicate(timeout=limit)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                output, _ = process.communicate()
                return None, output
        return process.returncode, output


def _limited() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))


def killer(status: int | None, output: str) -> str:
    """
    The test that failed, or how the run ended otherwise; empty if all tests passed.

    :param status: the status of the run; None if it did not end
    """
    if status is None:
        return "does not end"
    if status in (0, 5):  # 5: there was no test left to run
        return ""
    for line in output.splitlines():
        if line.startswith(("FAILED ", "ERROR ")):
            return line.split(" ", 2)[1]
    return f"ended with status {status}"
