"""``kinformer bench``: runs benchmarks one after the other, and prints a table after each."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table as Picture

from kinformer.bench.cases import CASES
from kinformer.bench.charts import draw, need_charts
from kinformer.bench.cluster import check_cluster
from kinformer.bench.peers import peers, run_peer
from kinformer.bench.results import BenchError, Results, Row, Table
from kinformer.bench.runner import environment, run_case, run_cluster, run_start

__all__ = ("run",)

_PEERS = "peers"
_WIDTH = 160
_LABEL = 16
_REPEAT = 3


async def run(
    *,
    names: Sequence[str],
    quick: bool,
    json_file: Path | None,
    charts: Path | None,
    uvloop: bool,
    peers: bool,
    kubeconfig: Path | None,
    seconds: float,
    repeat: int | None = None,
) -> int:
    """
    Run benchmarks, and print the results.

    :param names: the names of the benchmarks; all if empty
    :param quick: run small versions
    :param json_file: where to write the results as JSON
    :param charts: where to write charts
    :param uvloop: run on uvloop
    :param peers: measure other clients, too
    :param kubeconfig: measure an informer and a manager's start on this cluster instead
    :param seconds: how long to watch that cluster
    :param repeat: how often each benchmark is run; None: three times, or once if `quick`
    :raises BenchError: if a benchmark is not known, or fails
    :raises ClientError: if the cluster cannot be reached, or refuses a request
    :raises OSError: if a file cannot be written
    """
    console = Console(highlight=False)
    if not console.is_terminal:
        # The output is no terminal, so the table need not fit into a window.
        console.width = max(console.width, _WIDTH)
    if charts is not None:
        need_charts()
    if uvloop and importlib.util.find_spec("uvloop") is None:
        raise BenchError("uvloop is not installed: pip install 'kinformer[uvloop]'")
    if kubeconfig is not None and (names or peers):
        raise BenchError("--kubeconfig is a benchmark of its own: leave out the names and --peers")
    repeat = repeat or (1 if quick else _REPEAT)
    jobs = list(_jobs(names, quick, uvloop, peers, kubeconfig, seconds, repeat))
    results = Results(environment(uvloop=uvloop))
    if json_file is not None:
        # Written now, so that a file that cannot be written is an error at once, not after minutes of measuring.
        results.write(json_file)
    console.print(_heading(results), soft_wrap=True)
    if kubeconfig is not None:
        console.print(await check_cluster(kubeconfig), soft_wrap=True)
    options = [text for text, given in (("quick", quick), ("uvloop", uvloop)) if given]
    if repeat > 1:
        options.append(f"the middle one of {repeat} runs")
    if _is_busy(results.environment):
        options.append(f"on a busy machine, of load {results.environment['load']}")
    with _progress(console) as progress:
        for job in jobs:
            table = job.table
            table.measured = ", ".join([str(results.environment["date"]), *options])
            task = progress.add_task(table.title, total=job.size)
            for part in job.parts:
                async for row in part():
                    table.rows.append(row)
                    progress.advance(task)
            progress.remove_task(task)
            results.tables[job.name] = table
            console.print(f"{job.name}: {table.title}", style="bold", soft_wrap=True)
            console.print(_picture(table))
            for label, why in table.failures:
                console.print(f"  {label} cannot run: {why}", soft_wrap=True)
            if json_file is not None:
                results.write(json_file)
            if charts is not None:
                draw(job.name, table, charts)
    return 0


@dataclass(frozen=True, slots=True)
class _Job:
    """
    A benchmark to run.

    :param size: the number of rows of its table
    :param parts: functions that each return some of the rows
    """

    name: str
    table: Table
    size: int
    parts: list[Callable[[], AsyncIterator[Row]]]


def _jobs(
    names: Sequence[str],
    quick: bool,
    uvloop: bool,
    with_peers: bool,
    kubeconfig: Path | None,
    seconds: float,
    repeat: int,
) -> Iterator[_Job]:
    known = [*CASES, _PEERS]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise BenchError(f"there is no benchmark {unknown[0]!r}; there are {', '.join(known)}")
    if kubeconfig is not None:
        table = Table("An informer of the cluster's pods", ("us CPU/event",), lower_is_better=True)
        yield _Job("cluster", table, 1, [partial(run_cluster, kubeconfig, seconds, uvloop=uvloop)])
        table = Table("A manager's start on the cluster, until it could work", ("seconds",), lower_is_better=True)
        yield _Job("start", table, 1, [partial(run_start, kubeconfig, uvloop=uvloop, repeat=repeat)])
        return
    chosen = dict.fromkeys([*(names or CASES), *([_PEERS] if with_peers else [])])
    for name in chosen:
        if name == _PEERS:
            found = peers()
            table = Table("The same pods and events for other clients", ("events/CPU-s",))
            yield _Job(name, table, len(found), [partial(run_peer, peer, quick=quick) for peer in found])
            continue
        case = CASES[name]
        table = Table(case.title, case.chart, case.lower_is_better)
        size = len(case.quick if quick else case.runs)
        yield _Job(name, table, size, [partial(run_case, name, quick=quick, uvloop=uvloop, repeat=repeat)])


def _progress(console: Console) -> Progress:
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    return Progress(*columns, TimeElapsedColumn(), console=console, transient=True, disable=not console.is_terminal)


def _heading(results: Results) -> str:
    found = results.environment
    versions = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    busy = ": busy with other things, of which these figures tell, too" if _is_busy(found) else ""
    machine = f"{found['machine']}, {found['memory']}, load {found['load']}{busy}"
    return f"{machine}\n{found['python']}, {versions}"


def _is_busy(environment: dict[str, Any]) -> bool:
    """Whether other processes use more than a tenth of the machine."""
    return float(environment["load"]) > (os.cpu_count() or 1) / 10


def _picture(table: Table) -> Picture:
    picture = Picture(box=box.SIMPLE_HEAD)
    picture.add_column("", overflow="fold", min_width=_LABEL)
    for column in table.columns:
        picture.add_column(column, justify="right", no_wrap=True)
    for row in table.rows:
        picture.add_row(row.label, *table.cells(row))
    return picture
