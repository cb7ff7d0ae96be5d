"""Running benchmarks: each run has its own process, from which its figures are read.

A benchmark is a :class:`Case`: a coroutine function of a module, and the arguments of its runs. Users run those of
:mod:`kinformer.bench.cases`.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.metadata
import json
import logging
import os
import platform
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import anyio
import structlog

from kinformer.bench.results import BenchError, Figures, Row, Table, row_of
from kinformer.collector import relax

__all__ = ("Case", "address_of", "each", "environment", "function_at", "run_case")

_PACKAGES = ("kinformer", "msgspec", "aiohttp", "anyio", "kubernetes_asyncio")
#: The longest time for a run, in seconds. A run with a million pods on a slow machine needs less.
_RUN_SECONDS = 1_200


@dataclass(frozen=True, slots=True)
class Case:
    """
    A benchmark with the arguments of its runs.

    :param title: the title of its table
    :param measure: the coroutine function that runs it; returns the figures of a row. It must have a name in its module
    :param runs: the arguments of each run
    :param quick: the arguments of smaller runs, which take a minute in all
    :param chart: the names of the figures that the chart shows
    :param lower_is_better: whether a smaller figure is better
    :param labels: the names of the rows; if empty, they are made from the arguments
    :param is_repeated: whether several runs make sense
    """

    title: str
    measure: Callable[..., Awaitable[Figures]]
    runs: tuple[dict[str, Any], ...]
    quick: tuple[dict[str, Any], ...]
    chart: tuple[str, ...]
    lower_is_better: bool = False
    labels: tuple[str, ...] = ()
    is_repeated: bool = True

    def arguments(self, *, quick: bool) -> tuple[dict[str, Any], ...]:
        """The arguments of the runs, one for each row."""
        return self.quick if quick else self.runs

    def table(self) -> Table:
        """Its table, without rows yet."""
        return Table(self.title, self.chart, self.lower_is_better)

    def label(self, row: int, *, quick: bool) -> str:
        """The name of a row."""
        return self.labels[row] if self.labels else _label(self.arguments(quick=quick)[row], quick)


def each(name: str, values: tuple[Any, ...], **others: Any) -> tuple[dict[str, Any], ...]:
    """The arguments of runs that differ in one of them."""
    return tuple({name: value, **others} for value in values)


async def run_case(name: str, case: Case, *, quick: bool, uvloop: bool = False, repeat: int = 1) -> AsyncIterator[Row]:
    """
    Run a benchmark; yields each row as soon as its last run is over.

    :param name: its name in errors
    :param quick: whether to make the smaller runs
    :param uvloop: whether to use uvloop
    :param repeat: how often each row is measured, if that makes sense
    :raises BenchError: if a run fails
    """
    rows = case.arguments(quick=quick)
    repeat = repeat if case.is_repeated else 1
    runs: list[list[Figures]] = [[] for _ in rows]
    # All rows are measured once before the first is measured again. So if the machine is busy for a while, this does
    # not change all runs of one row.
    for number in range(repeat):
        for index, (row, arguments) in enumerate(zip(runs, rows, strict=True)):
            row.append(await _run_apart(name, case, arguments, uvloop))
            if number == repeat - 1:
                yield row_of(case.label(index, quick=quick), row, case.chart[0])


def address_of(function: Callable[..., Any]) -> str:
    """The module and the name of a function, by which another process finds it. Its module may be the program."""
    module = function.__module__
    if module == "__main__" and (spec := sys.modules[module].__spec__) is not None:
        module = spec.name
    return f"{module}:{function.__name__}"


def function_at(address: str) -> Any:
    """The function at an address."""
    module, _, name = address.partition(":")
    return getattr(importlib.import_module(module), name)


def _label(arguments: dict[str, Any], quick: bool) -> str:
    first, *others = arguments.items() if arguments else ((None, None),)
    # The sizes of a quick run do not matter, so the label leaves them out.
    shown = [] if first[0] is None else [first, *(it for it in others if not quick or isinstance(it[1], str))]
    return ", ".join(value if isinstance(value, str) else f"{key} {value:,}" for key, value in shown) or "all"


async def _run_apart(name: str, case: Case, arguments: dict[str, Any], uvloop: bool) -> Figures:
    command = [
        sys.executable,
        "-m",
        "kinformer.bench.runner",
        address_of(case.measure),
        json.dumps(arguments),
        str(int(uvloop)),
    ]
    try:
        with anyio.fail_after(_RUN_SECONDS + arguments.get("seconds", 0)):
            # The pipe is closed when this process ends, however it ends: then the run ends, too.
            done = await anyio.run_process(command, check=False, stdin=subprocess.PIPE, stderr=None)
    except TimeoutError as error:
        raise BenchError(f"benchmark {name} with {arguments} was not over after {_RUN_SECONDS} s") from error
    if done.returncode:
        raise BenchError(f"benchmark {name} with {arguments} ended with status {done.returncode}")
    figures: Figures = json.loads(done.stdout)
    return figures


def environment(*, uvloop: bool) -> dict[str, Any]:
    """The machine, and the versions of Python and of packages, for the results."""
    versions = {}
    for package in (*_PACKAGES, *(("uvloop",) if uvloop else ())):
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "machine": f"{platform.system()} {platform.machine()}, {_cpu_model()}, {os.cpu_count()} cores",
        "memory": f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30:.0f} GiB",
        # The load average of the last minute: how many processes ran or waited for a core.
        "load": round(os.getloadavg()[0], 1),
        "versions": versions,
    }


def _cpu_model() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as cpuinfo:  # noqa: PTH123  # not a file on a disk
            return next((line.partition(":")[2].strip() for line in cpuinfo if line.startswith("model name")), "")
    except OSError:
        return platform.processor()


def _main(address: str, arguments: str, uvloop: str) -> None:
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),  # the figures are on standard output
    )
    # `kinformer manager` does the same, so the figures are those of a real manager.
    relax()
    measure = function_at(address)

    async def measured() -> Figures:
        with anyio.CancelScope() as scope:
            asyncio.get_running_loop().add_reader(sys.stdin.fileno(), scope.cancel)
            figures: Figures = await measure(**json.loads(arguments))
            return figures
        sys.exit("the process that waited for the figures has ended")

    figures = anyio.run(measured, backend_options={"use_uvloop": bool(int(uvloop))})
    sys.stdout.write(json.dumps(figures))


if __name__ == "__main__":
    _main(*sys.argv[1:])
