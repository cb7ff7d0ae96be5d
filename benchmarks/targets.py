"""The targets of the project, beside the measured figures: the first table of ``docs/benchmarks.md``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kinformer.bench.informing import AS_GIVEN, DICTS, EVERYTHING, READS_MORE
from kinformer.bench.results import Results
from kinformer.bench.takeover import RELEASED

__all__ = ("TARGETS", "Target", "targets_table")

_NO_MANAGED = "all fields but managedFields decoded at once"


@dataclass(frozen=True, slots=True)
class Target:
    """
    A target.

    :param what: what is measured, for the table
    :param bound: the figure to reach
    :param measured: finds the measured figure in results; returns None if it is not there
    :param unit: the unit of both figures
    :param at_least: whether more is better
    """

    what: str
    bound: float
    measured: Callable[[Results], float | None]
    unit: str
    at_least: bool = False

    def is_met(self, value: float) -> bool:
        return value >= self.bound if self.at_least else value <= self.bound


def _figure(table: str, label: str, name: str) -> Callable[[Results], float | None]:
    return lambda results: results.tables[table].figure(label, name) if table in results.tables else None


def _of_two(
    one: Callable[[Results], float | None],
    other: Callable[[Results], float | None],
    combine: Callable[[float, float], float],
) -> Callable[[Results], float | None]:
    def measured(results: Results) -> float | None:
        values = one(results), other(results)
        return None if values[0] is None or values[1] is None else round(combine(values[0], values[1]), 2)

    return measured


def _pipeline(what: str, mode: str, bound: float) -> Target:
    figure = _figure("throughput", mode, "events/CPU-s")
    return Target(f"Events through the whole pipeline: {what}", bound, figure, "events/CPU-s", at_least=True)


def _per_handler(others: int) -> Callable[[float, float], float]:
    """
    The microseconds of CPU time for each further handler.

    :param others: how many more handlers the second figure has
    """
    return lambda few, many: (1e6 / many - 1e6 / few) / others


TARGETS = (
    _pipeline("a typed informer whose handler reads metadata", AS_GIVEN, 60_000),
    _pipeline("a handler that reads a field of spec and one of status of each", READS_MORE, 30_000),
    _pipeline("a Struct of 8 fields", "a Struct of 8 fields", 80_000),
    _pipeline("every field decoded at once, managedFields too", EVERYTHING, 25_000),
    _pipeline("dicts whose handler reads metadata", DICTS, 40_000),
    Target(
        "More than client-go's protobuf: events a second",
        35_000,
        _figure("throughput", AS_GIVEN, "events/s"),
        "events/s",
        at_least=True,
    ),
    Target(
        "First reads of spec and status, 10,000 pods",
        40_000,
        _figure("touch", f"{READS_MORE}, objects 10,000", "events/CPU-s"),
        "events/CPU-s",
        at_least=True,
    ),
    Target(
        "First reads of spec and status, 100,000 pods",
        25_000,
        _figure("touch", f"{READS_MORE}, objects 100,000", "events/CPU-s"),
        "events/CPU-s",
        at_least=True,
    ),
    Target("First sync, 10,000 pods", 0.3, _figure("sync", f"{_NO_MANAGED}, objects 10,000", "seconds"), "s"),
    Target(
        "First sync, 100,000 decoded pods, without the system's time, which is for fresh memory",
        4.0,
        _of_two(
            _figure("sync", f"{_NO_MANAGED}, objects 100,000", "seconds"),
            _figure("sync", f"{_NO_MANAGED}, objects 100,000", "of them system"),
            lambda seconds, system: seconds - system,
        ),
        "s",
    ),
    Target(
        "Peak of that sync over what stays",
        1.3,
        _figure("sync", f"{_NO_MANAGED}, objects 100,000", "peak / stays"),
        "times",
    ),
    Target(
        "Memory, a typed informer as a user gets it",
        8,
        _figure("memory", f"{AS_GIVEN}, objects 10,000", "KiB/object"),
        "KiB/pod",
    ),
    Target(
        "The same, where it is to go",
        5,
        _figure("memory", f"{AS_GIVEN}, objects 10,000", "KiB/object"),
        "KiB/pod",
    ),
    Target(
        "The same for pods with labels and owners of their own",
        5,
        _figure("memory", f"{AS_GIVEN}, objects 10,000, no two alike", "KiB/object"),
        "KiB/pod",
    ),
    Target(
        "The same, compressed",
        2,
        _figure("memory", f"{AS_GIVEN}, objects 10,000, no two alike, compressed", "KiB/object"),
        "KiB/pod",
    ),
    Target(
        "Memory, dicts",
        10,
        _figure("memory", f"{DICTS}, objects 10,000", "KiB/object"),
        "KiB/pod",
    ),
    Target(
        "Memory where everything is decoded",
        15,
        _figure("memory", f"{_NO_MANAGED}, objects 10,000", "KiB/object"),
        "KiB/pod",
    ),
    Target(
        "An event with 1,000,000 objects cached, against 10,000",
        1.25,
        _of_two(
            _figure("growth", "objects 1,000,000", "us CPU/event"),
            _figure("growth", "objects 10,000", "us CPU/event"),
            lambda many, few: many / few,
        ),
        "times",
    ),
    Target(
        "A handler more, for each event",
        1.0,
        _of_two(
            _figure("fanout", "handlers 1", "events/CPU-s"),
            _figure("fanout", "handlers 100", "events/CPU-s"),
            _per_handler(99),
        ),
        "us CPU",
    ),
    Target(
        "A controller's handler more, which reads metadata and one field, for each event",
        1.0,
        _of_two(
            _figure("readers", "handlers 1", "events/CPU-s"),
            _figure("readers", "handlers 5", "events/CPU-s"),
            _per_handler(4),
        ),
        "us CPU",
    ),
    Target(
        "A handler added to 4,000 others, against 1,000",
        1.25,
        _of_two(
            _figure("adding", "handlers 4,000", "us CPU each"),
            _figure("adding", "handlers 1,000", "us CPU each"),
            lambda many, few: many / few,
        ),
        "times",
    ),
    Target(
        "A follower's first sync once it holds the lease, 20,000 pods cached",
        100,
        _figure("takeover", f"{RELEASED}, objects 20,000", "ms to the first sync"),
        "ms",
    ),
    Target("First sync with a snapshot, 100,000 pods", 0.5, _figure("warm", "objects 100,000", "seconds"), "s"),
    Target(
        "A timer of 10 ms while 100,000 pods are synced",
        50,
        _figure("loop", "sync, objects 100,000", "worst ms late"),
        "ms late",
    ),
    Target(
        "A timer of 10 ms while 100,000 events flood in",
        50,
        _figure("loop", "flood, objects 10,000", "worst ms late"),
        "ms late",
    ),
)


def targets_table(results: Results) -> str:
    """The table of targets and measured figures, as Markdown."""
    lines = ["| | aimed at | measured | |", "|---|---:|---:|---|"]
    for target in TARGETS:
        value = target.measured(results)
        sign = "≥" if target.at_least else "≤"
        shown = (
            ("not measured", "")
            if value is None
            else (f"{value:,.10g}", "met" if target.is_met(value) else "**missed**")
        )
        lines.append(f"| {target.what} | {sign} {target.bound:,.10g} {target.unit} | {shown[0]} | {shown[1]} |")
    return "\n".join(lines)
