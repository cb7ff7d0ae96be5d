"""Running benchmarks, each run in a process of its own, and keeping what came out with where it came from."""

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
from kinformer.bench.results import BenchError, Figures, Row
from kinformer.collector import relax

__all__ = ("environment", "run_case", "run_cluster")

_PACKAGES = ("kinformer", "msgspec", "aiohttp", "anyio", "kubernetes_asyncio")
_CLUSTER = "cluster"
#: The longest that any run should ever take, on a slow machine: a million pods.
_RUN_SECONDS = 1_200


async def run_case(name: str, *, quick: bool, uvloop: bool) -> AsyncIterator[Row]:
    """
    Each run of a benchmark, as soon as it is over.

    :raises BenchError: if one fails
    """
    case = CASES[name]
    for arguments in case.quick if quick else case.runs:
        yield Row(_label(arguments, quick), await _run_apart(name, arguments, uvloop))


async def run_cluster(kubeconfig: Path, seconds: float, *, uvloop: bool) -> AsyncIterator[Row]:
    """
    The informer against a cluster, for so long after it has synced.

    :raises BenchError: if it fails
    """
    arguments = {"kubeconfig": str(kubeconfig), "seconds": seconds}
    yield Row("pods", await _run_apart(_CLUSTER, arguments, uvloop))


def _label(arguments: dict[str, Any], quick: bool) -> str:
    shown = list(arguments.items())[: 1 if quick else None]
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
    """The machine and the versions that figures were measured with."""
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
    # As the command does for every controller that it runs.
    relax()
    measure: Callable[..., Awaitable[Figures]] = watch_cluster if name == _CLUSTER else CASES[name].measure

    async def measured() -> Figures:
        return await measure(**json.loads(arguments))

    figures = anyio.run(measured, backend_options={"use_uvloop": bool(int(uvloop))})
    sys.stdout.write(json.dumps(figures))


if __name__ == "__main__":
    _main(*sys.argv[1:])
