"""Runs of pytest, each in a process that is forked from this one, in which libraries are imported.

To import the libraries takes 3 s of CPU. The forked process imports kinformer and the tests: so the mutant is in use
wherever its module is.
"""

from __future__ import annotations

import gc
import importlib
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Generator, Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import astuple, dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

import coverage
import pytest

__all__ = ("Run", "prepare", "run")

_LIBRARIES: Final = (
    "aiohttp.web",
    "anyio._backends._asyncio",
    "click",
    "cryptography.x509",
    "hypothesis.strategies",
    "kubernetes_asyncio.client",
    "msgspec",
    "prometheus_client",
    "rich.console",
    "structlog",
    "yaml",
)
#: Bytes of memory that a process may have: some mutants collect without end. A browser only reserves more.
_MEMORY: Final = 4 * 2**30
#: With these statuses of pytest, the tests have told what is to be known.
_JUDGED: Final = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED)


def prepare() -> None:
    """Import what all runs need. Kinformer itself is not imported."""
    quiet = ["-p", "no:cacheprovider", "-p", "no:kinformer", "-p", "no:asyncio"]
    with tempfile.TemporaryDirectory() as folder, Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere):
        pytest.main(["--rootdir", folder, *quiet, folder], plugins=[_Libraries()])
    # The garbage collector of a forked process need not look at what was imported.
    gc.freeze()


class _Libraries:
    """A plug-in that imports libraries during a run of pytest, which rewrites the assertions of some."""

    def pytest_sessionstart(self) -> None:
        for name in _LIBRARIES:
            importlib.import_module(name)


@dataclass(slots=True)
class Run:
    """
    :param failed: the tests and files that failed, in their order
    :param seconds: what each test took that passed
    :param reached: the tests that executed a line, by the path of the module and the number of the line
    :param cpu: seconds of CPU of the run, with all its processes
    :param problem: how the run ended, if it did not end as it should
    :param output: what it printed
    """

    failed: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    reached: dict[str, dict[int, list[str]]] = field(default_factory=dict)
    cpu: float = 0.0
    problem: str = ""
    output: str = ""

    @property
    def killer(self) -> str:
        """The test that failed, or how the run ended otherwise; empty if all tests passed."""
        return next(iter(self.failed), self.problem)


def run(
    folder: Path,
    tests: Sequence[str],
    *,
    only: Sequence[str] | None = None,
    traced: str = "",
    patience: float = 300.0,
    limit: float | None = None,
    cpu_limit: float = resource.RLIM_INFINITY,
) -> Run:
    """
    Run tests of a checkout.

    :param folder: the checkout
    :param tests: files or folders in it
    :param only: the tests to be run, in this order, up to the first failure; None: all of them
    :param traced: a folder of modules, of which it is noted which test executes which line
    :param patience: seconds after which a test has failed
    :param limit: seconds after which the run is ended
    :param cpu_limit: seconds of CPU after which it is ended. This ends loops that catch every error
    """
    ours, its = get_context("fork").Pipe(duplex=False)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    options = ["--rootdir", str(folder), "-p", "no:cacheprovider", "--no-header", f"--timeout={patience}"]
    arguments = [*options, *(["-x"] if only is not None else []), *tests]
    process = get_context("fork").Process(target=_in_fork, args=(its, folder, arguments, only, traced, cpu_limit))
    process.start()
    its.close()
    done = Run()
    try:
        done = Run(*ours.recv()) if ours.poll(limit) else Run(problem="does not end")
    except EOFError:
        process.join()
        done = Run(problem=f"ended with status {process.exitcode}")
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid or 0, signal.SIGKILL)
        process.join()
        ours.close()
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    done.cpu = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
    return done


def _in_fork(
    answer: Connection,
    folder: Path,
    arguments: list[str],
    only: Sequence[str] | None,
    traced: str,
    cpu_limit: float,
) -> None:
    os.setsid()
    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (int(cpu_limit), resource.RLIM_INFINITY))
    os.chdir(folder)
    paths = [str(folder), str(folder / "controllers")]
    sys.path[:0] = paths
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)
    for name in [name for name in sys.modules if name.partition(".")[0] == "tests"]:
        del sys.modules[name]
    tracer = None
    if traced:
        tracer = coverage.Coverage(data_file=None, config_file=False, source=[str(folder / traced)])
        tracer.start()
    watch = _Watch(only, tracer)
    with (folder / "output").open("w+") as output, redirect_stdout(output), redirect_stderr(output):
        try:
            status = pytest.main(arguments, plugins=[watch])
            if status not in _JUDGED and not watch.run.failed:
                watch.run.problem = f"pytest ended with status {int(status)}"
        except BaseException as error:
            traceback.print_exc()
            watch.run.problem = f"pytest ended with {type(error).__name__}"
        output.seek(0)
        watch.run.output = output.read()
    if tracer is not None:
        tracer.stop()
        data = tracer.get_data()
        for path in data.measured_files():
            watch.run.reached[str(Path(path).relative_to(folder))] = data.contexts_by_lineno(path)
    answer.send(astuple(watch.run))  # this module may have been imported anew


class _Watch:
    """A plug-in that chooses tests, and writes down what becomes of them."""

    def __init__(self, only: Sequence[str] | None, tracer: coverage.Coverage | None) -> None:
        self._only, self._tracer = only, tracer
        self.run = Run()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if self._only is not None:
            named = {item.nodeid: item for item in items}
            items[:] = [named[name] for name in self._only if name in named]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        if self._tracer is not None:
            self._tracer.switch_context(item.nodeid)
        began = time.monotonic()
        try:
            return (yield)
        finally:
            self.run.seconds[item.nodeid] = time.monotonic() - began

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._note(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._note(report)

    def _note(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if report.failed and report.nodeid not in self.run.failed:
            self.run.failed.append(report.nodeid)
