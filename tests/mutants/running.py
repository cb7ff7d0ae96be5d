"""Running the tests that belong to a package against mutants of its modules.

The checkout is copied, so that nobody works on code with mistakes in it. The copy comes first on the path of each run,
before the package that is installed. Byte code is kept in the copy: a run compiles the module that was changed, and
nothing else.

The tests of each package run once without a mutant, to learn which lines each of them executes. A mutant is tried with
the tests that execute its statement, the fastest first, and then with all others of the package: a line may be executed
by an import, or in another process.
"""

from __future__ import annotations

import itertools
import os
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from tests.mutants.forking import run
from tests.mutants.operators import Mutant

__all__ = ("AREAS", "ROOT", "Area", "Copy", "NotGreen", "Outcome", "Stage", "Suite")

ROOT: Final = Path(__file__).parents[2]
#: What a run needs of the checkout.
_NEEDED: Final = ("kinformer", "controllers", "tests", "docs", "templates", "pyproject.toml", "README.md", "Makefile")
#: A test that goes on for so many times as long as without a mutant does not end. The same is true of a run.
_LONGER: Final = 10.0
#: Seconds that a test may take in any case.
_AT_LEAST: Final = 30.0
#: A run that needs so many times the CPU that it needs without a mutant does not end.
_MORE_CPU: Final = 3.0
#: Tests of a package that may fail without a mutant. They are left out, and their names are printed.
_FLAKY: Final = 3


class NotGreen(Exception):
    """Many tests of a package fail without a mutant. The text has their output."""


@dataclass(frozen=True, slots=True)
class Area:
    """
    A package, and the tests that belong to it.

    :param package: its folder
    :param tests: folders and files of tests
    """

    package: str
    tests: tuple[str, ...]

    def modules(self) -> list[Path]:
        return sorted(path for path in (ROOT / self.package).rglob("*.py") if path.name != "__init__.py")


#: Five controllers, which are also what tries :mod:`kinformer.controllerutil`.
_CONTROLLERS: Final = ("replicationcontroller", "deployment", "job", "statefulset", "garbagecollector")
#: What Kubernetes' own functions and controllers do in the same place.
_RECORDED: Final = ("tests/golden/test_functions.py", "tests/golden/test_scenarios.py")

AREAS: Final = (
    Area("kinformer/cache", ("tests/cache", "tests/informers", "tests/manager/test_checks.py")),
    Area("kinformer/workqueue", ("tests/workqueue",)),
    Area(
        "kinformer/controllerutil",
        (
            "tests/controllerutil",
            "tests/operator/test_mistakes.py",
            *(f"tests/controllers/{name}" for name in _CONTROLLERS),
            *_RECORDED,
        ),
    ),
    Area("kinformer/manager", ("tests/manager", "tests/cli/test_replay.py", "tests/operator/test_daemons.py")),
    Area("kinformer/operator", ("tests/operator", "tests/controllers/groupquota/test_server.py")),
    *(
        Area(f"controllers/kinformer_controllers/{name}", (f"tests/controllers/{name}", *_RECORDED))
        for name in _CONTROLLERS
    ),
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """
    :param killed_by: the test that failed, or how the run ended otherwise; empty if the mutant survived
    :param seconds: seconds of CPU that the runs took
    """

    path: str
    mutant: Mutant
    killed_by: str
    seconds: float


class Stage(NamedTuple):
    """
    Some tests that are run in this order.

    :param patience: seconds after which one of them is taken for one that does not end
    :param limit: seconds after which the same is said of all of them
    :param cpu_limit: seconds of CPU after which the same is said of all of them
    """

    tests: list[str]
    patience: float
    limit: float
    cpu_limit: float


@dataclass(frozen=True, slots=True)
class Suite:
    """
    The tests of a package as they are without a mutant.

    :param seconds: what each of them takes
    :param cpu: seconds of CPU that all of them take
    :param left_out: those that fail
    :param reached: the tests that execute a line, by the path of the module and the number of the line
    """

    seconds: dict[str, float]
    cpu: float
    left_out: list[str] = field(default_factory=list)
    reached: dict[str, dict[int, list[str]]] = field(default_factory=dict)

    def stages(self, path: str, mutant: Mutant) -> list[Stage]:
        """The tests that execute the mutant's statement, and the others; each part in the order of their seconds."""
        first, last = mutant.statement
        lines = self.reached.get(path, {})
        near = {test for line in range(first, last + 1) for test in lines.get(line, ())}
        tests = sorted(self.seconds, key=self.seconds.__getitem__)
        parts = ([test for test in tests if test in near], [test for test in tests if test not in near])
        return [self._stage(part) for part in parts if part]

    def _stage(self, tests: list[str]) -> Stage:
        taken = [self.seconds[test] for test in tests]
        cpu = self.cpu * sum(taken) / sum(self.seconds.values())
        return Stage(
            tests,
            patience=_AT_LEAST + _LONGER * max(taken),
            limit=2 * _AT_LEAST + _LONGER * sum(taken),
            cpu_limit=_AT_LEAST + _MORE_CPU * cpu,
        )


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
                shutil.copytree(source, folder / name)
            elif source.exists():
                shutil.copy2(source, folder / name)
        self._folder = folder
        self._times = itertools.count(int(time.time()) + 1)

    def suite(self, area: Area) -> Suite:
        """
        The tests of a package, as they are without a mutant.

        :raises NotGreen: if several of them fail
        """
        result = run(self._folder, area.tests, traced=area.package)
        if result.problem or len(result.failed) > _FLAKY:
            reasons = "\n".join([result.problem, *result.failed] if result.failed else [result.problem, result.output])
            raise NotGreen(f"{area.package} fails without any mutant: {reasons}")
        seconds = {test: taken for test, taken in result.seconds.items() if test not in result.failed}
        return Suite(seconds, result.cpu, result.failed, result.reached)

    def try_mutant(self, path: str, mutant: Mutant, stages: Sequence[Stage]) -> Outcome:
        """
        :param path: the module in the checkout
        :param stages: the tests, which are run until one fails
        """
        module = self._folder / path
        before, kept = module.read_bytes(), module.stat()
        module.write_text(mutant.applied(before.decode()))
        # Byte code is found old by whole seconds of this time.
        moment = next(self._times)
        os.utime(module, (moment, moment))
        killed_by, seconds = "", 0.0
        try:
            for stage in stages:
                files = dict.fromkeys(test.partition("::")[0] for test in stage.tests)
                result = run(
                    self._folder,
                    list(files),
                    only=stage.tests,
                    patience=stage.patience,
                    limit=stage.limit,
                    cpu_limit=stage.cpu_limit,
                )
                seconds += result.cpu
                killed_by = result.killer
                if killed_by:
                    break
        finally:
            module.write_bytes(before)
            os.utime(module, ns=(kept.st_atime_ns, kept.st_mtime_ns))
        return Outcome(path, mutant, killed_by, seconds)
