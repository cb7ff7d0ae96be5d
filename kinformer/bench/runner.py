"""Running benchmarks: each run has its own process, from which its figures are read."""

from __future__ import annotations

import importlib.metadata
import json
import logging
import os
import platform
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import structlog

from kinformer.bench.cases import CASES
from kinformer.bench.cluster import watch_cluster
from kinformer.bench.results import BenchError, Figures, Row, row_of
from kinformer.bench.start import STARTED, start_manager
from kinformer.collector import relax

__all__ = ("environment", "run_case", "run_cluster", "run_start")

_PACKAGES = ("kinformer", "msgspec", "aiohttp", "anyio", "kubernetes_asyncio")
_CLUSTER = "cluster"
_START = "start"
#: The longest time for a run, in seconds. A run with a million pods on a slow machine needs less.
_RUN_SECONDS = 1_200


async def run_case(name: str, *, quick: bool, uvloop: bool, repeat: int = 1) -> AsyncIterator[Row]:
    """
    Run a benchmark; yields each row as soon as its last run is over.

    :param name: a key of :data:`kinformer.bench.cases.CASES`
    :param quick: whether to make the smaller runs
    :param uvloop: whether to use uvloop
    :param repeat: how often each row is measured
    :raises BenchError: if a run fails
    """
    case = CASES[name]
    rows = case.quick if quick else case.runs
    runs: list[list[Figures]] = [[] for _ in rows]
    # All rows are measured once before the first is measured again. So if the machine is busy for a while, this does
    # not change all runs of one row.
    for number in range(repeat):
        for row, arguments in zip(runs, rows, strict=True):
            row.append(await _run_apart(name, arguments, uvloop))
            if number == repeat - 1:
                yield row_of(_label(arguments, quick), row, case.chart[0])


async def run_cluster(kubeconfig: Path, seconds: float, *, uvloop: bool) -> AsyncIterator[Row]:
    """
    Measure the informer against a cluster.

    :param seconds: how long events are counted after the first sync
    :param uvloop: whether to use uvloop
    :raises BenchError: if the run fails
    """
    arguments = {"kubeconfig": str(kubeconfig), "seconds": seconds}
    yield Row("pods", await _run_apart(_CLUSTER, arguments, uvloop))


async def run_start(kubeconfig: Path, *, uvloop: bool, repeat: int = 1) -> AsyncIterator[Row]:
    """
    Measure a manager's start against a cluster, until its controllers could work.

    :param uvloop: whether to use uvloop
    :param repeat: how often it is measured
    :raises BenchError: if a run fails
    """
    arguments = {"kubeconfig": str(kubeconfig)}
    runs = [await _run_apart(_START, arguments, uvloop) for _ in range(repeat)]
    yield row_of(", ".join(STARTED), runs, "seconds")


def _label(arguments: dict[str, Any], quick: bool) -> str:
    first, *others = arguments.items() if arguments else ((None, None),)
    # The sizes of a quick run do not matter, so the label leaves them out.
    shown = [] if first[0] is None else [first, *(it for it in others if not quick or isinstance(it[1], str))]
    return ", ".join(value if isinstance(value, str) else f"{key} {value:,}" for key, value in shown) or "all"


async def _run_apart(name: str, arguments: dict[str, Any], uvloop: bool) -> Figures:
    command = [sys.executable, "-m", "kinformer.bench.runner", name, json.dumps(arguments), str(int(uvloop))]
    try:
        with anyio.fail_after(_RUN_SECONDS + arguments.get("seconds", 0)):
            done = await anyio.run_process(command, check=False, stderr=None)
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


def _main(name: str, arguments: str, uvloop: str) -> None:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    # `kinformer manager` does the same, so the figures are those of a real manager.
    relax()
    of_clusters: dict[str, Callable[..., Awaitable[Figures]]] = {_CLUSTER: watch_cluster, _START: start_manager}
    measure = of_clusters.get(name) or CASES[name].measure

    async def measured() -> Figures:
        return await measure(**json.loads(arguments))

    figures = anyio.run(measured, backend_options={"use_uvloop": bool(int(uvloop))})
    sys.stdout.write(json.dumps(figures))


if __name__ == "__main__":
    _main(*sys.argv[1:])
