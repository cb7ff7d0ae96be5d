"""Run all benchmarks, and write the report of them: ``python -m benchmarks.report``.

It runs every benchmark, also those of other clients, and a profile. It keeps the figures in
``docs/benchmarks/results.json``, draws ``docs/benchmarks/*.svg``, and writes tables into ``docs/benchmarks.md`` between
its markers. With names, only those benchmarks run, and the figures of the others stay. With ``--render`` none runs.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import pstats
import re
import sys
import tempfile
from functools import partial
from pathlib import Path

import anyio
import structlog

from benchmarks import peers
from benchmarks.guard import STORED
from benchmarks.targets import targets_table
from kinformer.bench import cases
from kinformer.bench.charts import draw, need_charts
from kinformer.bench.informing import informing
from kinformer.bench.results import BenchError, Results, Row, Table
from kinformer.cli.bench import run

__all__ = ("REPORTED", "blocks", "filled", "front")

PAGE = Path(__file__).resolve().parents[1] / "docs" / "benchmarks.md"
FOLDER = PAGE.with_suffix("")
RESULTS = FOLDER / "results.json"

#: client-go cannot be installed with pip, so a program in Go was measured once, on 2026-11-20, on a machine of two
#: cores as well, with the same pods as the other clients. It reads protobuf; with JSON it has 4,800 events/s.
_CLIENT_GO = Row("client-go 1.36, protobuf", {"events/s": 35_000, "KiB/object": 12.0})

#: The benchmarks of the page.
REPORTED = {**cases.CASES, **peers.CASES}

_PROFILE = "profile"
_PROFILED_EVENTS = 50_000
_SHOWN = 20
_MARKED = re.compile(r"(<!-- begin (\S+) -->\n).*?(<!-- end \2 -->)", re.DOTALL)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.report", description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(REPORTED)} and profile; default: all")
    parser.add_argument("--render", action="store_true", help="run no benchmark: write the page again from the results")
    parser.add_argument("--quick", action="store_true", help="small runs, to try this out")
    options = parser.parse_args()
    try:
        results = Results.read(RESULTS) if options.render else measure(options.names, quick=options.quick)
        need_charts()
        for name, table in results.tables.items():
            draw(name, table, FOLDER)
        for name, table in front(results).items():
            draw(name, table, FOLDER, is_front=True)
        PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), blocks(results)), encoding="utf-8")
    except (BenchError, OSError) as error:
        print(f"report: {error}", file=sys.stderr)
        return 1
    print(f"wrote {PAGE} and {FOLDER}")
    return 0


def measure(names: list[str], *, quick: bool) -> Results:
    """
    Run benchmarks, and write their results.

    Earlier results of other benchmarks are kept, if they are of the same machine and the same Python.

    :param names: of benchmarks, or ``profile``; empty for all
    :param quick: whether to make small runs
    :raises BenchError: if a benchmark fails before there is any result
    """
    need_charts()
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
    chosen = [name for name in names or REPORTED if name != _PROFILE]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "results.json"
        if chosen:
            bench = partial(run, names=chosen, cases=REPORTED, quick=quick, json_file=file)
            try:
                anyio.run(bench)
            except (BenchError, KeyboardInterrupt) as error:
                # Keep the results so far: they took minutes. Only the benchmark that failed or was interrupted is lost.
                if not file.exists():
                    raise
                print(f"report: stopped: {error!r}; what was measured before is kept", file=sys.stderr)
            results = Results.read(file)
        else:
            results = Results.read(RESULTS)
    if not names or _PROFILE in names:
        results.tables[_PROFILE] = profile(_PROFILED_EVENTS // (10 if quick else 1))
    if RESULTS.exists():
        before = Results.read(RESULTS)
        if all(before.environment[what] == results.environment[what] for what in ("machine", "python")):
            results.tables = {**before.tables, **results.tables}
    FOLDER.mkdir(exist_ok=True)
    results.write(RESULTS)
    return results


def profile(events: int) -> Table:
    """
    Profile a typed informer with default settings; returns the functions that take most of the time.

    :param events: the number of events that it sees
    """
    profiler = cProfile.Profile()

    async def profiled() -> None:
        async with informing(2_000) as bench:
            profiler.enable()
            await bench.load(events)
            profiler.disable()

    anyio.run(profiled)
    stats = pstats.Stats(profiler).stats  # type: ignore[attr-defined]  # missing in typeshed
    # Waiting for the server is not a cost of the informer.
    work = {where: taken for where, taken in stats.items() if "'poll' of 'select.epoll'" not in where[2]}
    whole = sum(taken[2] for taken in work.values())
    table = Table("Where the time goes, under Python's profiler", ("share %",), lower_is_better=True)
    table.measured = f"{events:,} events; the profiler itself makes Python's calls look dearer than C's"
    for where, (_, calls, own, _, _) in sorted(work.items(), key=lambda item: -item[1][2])[:_SHOWN]:
        figures = {"share %": round(own / whole * 100, 1), "calls/event": round(calls / events, 3)}
        table.rows.append(Row(_function(*where), figures))
    return table


def _function(file: str, line: int, name: str) -> str:
    if file == "~":
        return name.strip("<>").replace("built-in method ", "").replace("method ", "")
    path = Path(file)
    parts = path.parts
    for root in ("kinformer", "site-packages"):
        if root in parts:
            path = Path(*parts[len(parts) - 1 - parts[::-1].index(root) :])
            break
    else:
        path = Path(path.name)
    shown = str(path).removeprefix("site-packages/")
    return f"{shown}:{line} {name}"


def front(results: Results) -> dict[str, Table]:
    """The two charts of the first page: events a second and memory, of this project and of other clients."""
    peers = results.tables.get("peers")
    if peers is None:
        return {}
    ours, *others = peers.rows
    rows = [ours, _CLIENT_GO, *others]
    return {
        "front-events": Table("Changes of pods that reach a handler", ("events/s",), rows=rows),
        "front-memory": Table(
            "Memory of a cached pod of 5.7 KB",
            ("KiB/object",),
            lower_is_better=True,
            rows=[row for row in rows if "KiB/object" in row.figures],
        ),
    }


def blocks(results: Results) -> dict[str, str]:
    """The texts between the page's markers, by the names of the markers."""
    return {
        "environment": _environment(results),
        "targets": targets_table(results),
        "instructions": _instructions(),
        **{name: _markdown(name, table) for name, table in results.tables.items()},
    }


def filled(page: str, texts: dict[str, str]) -> str:
    """The page with these texts between its markers. A marker without a text gets the words "Not measured."."""
    return _MARKED.sub(lambda mark: f"{mark[1]}{texts.get(mark[2], 'Not measured.')}\n{mark[3]}", page)


def _markdown(name: str, table: Table) -> str:
    lines = []
    if any(table.figure(row.label, figure) is not None for row in table.rows for figure in table.chart):
        lines += [f"![{table.title}](benchmarks/{name}.svg)", ""]
    columns = table.columns
    lines += [f"| | {' | '.join(columns)} |", f"|---|{'---:|' * len(columns)}"]
    # Markdown would take some characters in a function's name for markup.
    label = "`{}`" if name == _PROFILE else "{}"
    lines += [f"| {label.format(row.label)} | {' | '.join(table.cells(row))} |" for row in table.rows]
    lines += [f"\n{label} cannot run: {why}" for label, why in table.failures]
    return "\n".join([*lines, "", f"Measured: {table.measured}."])


def _environment(results: Results) -> str:
    found = results.environment
    rows = {"machine": found["machine"], "Python": found["python"], "date": found["date"], **found["versions"]}
    return "\n".join(["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows.items())])


def _instructions() -> str:
    if not STORED.exists():
        return "None are stored."
    stored = json.loads(STORED.read_text(encoding="utf-8"))
    others = ("list", "touch", "write", "sync")
    lines = ["| Python | an event | a pod listed | listed and read | a pod created | a sync | compiler | msgspec |"]
    lines.append("|---|---:|---:|---:|---:|---:|---|---|")
    for one in stored.values():
        paths = one.get("paths", {})
        counts = [one["instructions"], *(paths.get(name) for name in others)]
        cells = [one["python"], *("" if it is None else f"{it:,}" for it in counts), one["compiler"], one["msgspec"]]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
