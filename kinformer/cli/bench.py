"""``kinformer bench``: runs benchmarks one after the other, and prints a table after each."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table as Picture

from kinformer.bench.cases import CASES
from kinformer.bench.charts import draw, need_charts
from kinformer.bench.cluster import cases_of, check_cluster
from kinformer.bench.results import BenchError, Results, Table
from kinformer.bench.runner import Case, environment, run_case

__all__ = ("chosen_cases", "run")

_WIDTH = 160
_LABEL = 16
_REPEAT = 3


async def run(
    *,
    names: Sequence[str],
    cases: Mapping[str, Case] = CASES,
    quick: bool = False,
    json_file: Path | None = None,
    charts: Path | None = None,
    uvloop: bool = False,
    kubeconfig: Path | None = None,
    seconds: float = 0.0,
    repeat: int | None = None,
) -> int:
    """
    Run benchmarks, and print the results.

    :param names: the names of the benchmarks; all if empty
    :param cases: the benchmarks by name
    :param quick: run small versions
    :param json_file: where to write the results as JSON
    :param charts: where to write charts
    :param uvloop: run on uvloop
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
    if kubeconfig is not None and names:
        raise BenchError("--kubeconfig is a benchmark of its own: leave out the names")
    repeat = repeat or (1 if quick else _REPEAT)
    chosen = chosen_cases(names, cases if kubeconfig is None else cases_of(kubeconfig, seconds))
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
        for name, case in chosen.items():
            table = case.table()
            table.measured = ", ".join([str(results.environment["date"]), *options])
            task = progress.add_task(table.title, total=len(case.arguments(quick=quick)))
            async for row in run_case(name, case, quick=quick, uvloop=uvloop, repeat=repeat):
                table.rows.append(row)
                progress.advance(task)
            progress.remove_task(task)
            results.tables[name] = table
            console.print(f"{name}: {table.title}", style="bold", soft_wrap=True)
            console.print(_picture(table))
            for label, why in table.failures:
                console.print(f"  {label} cannot run: {why}", soft_wrap=True)
            if json_file is not None:
                results.write(json_file)
            if charts is not None:
                draw(name, table, charts)
    return 0


def chosen_cases(names: Sequence[str], cases: Mapping[str, Case]) -> dict[str, Case]:
    """
    The benchmarks of these names, or all.

    :raises BenchError: if there is none of a name
    """
    for name in names:
        if name not in cases:
            raise BenchError(f"there is no benchmark {name!r}; there are {', '.join(cases)}")
    return {name: cases[name] for name in names or cases}


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
