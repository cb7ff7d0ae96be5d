"""Results of benchmarks: tables by name, and the environment where they were measured, kept as JSON.

The file has the form
``{"environment": {…}, "tables": {NAME: {"title": …, "rows": [{"label": …, "figures": {FIGURE: number or text}}]}}}``.
:mod:`kinformer.bench.charts` draws the results, and the documentation's page on benchmarks is made from them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median_low
from typing import Any, TypeAlias

from kinformer.files import write_whole

__all__ = ("FAILED", "SPREAD", "BenchError", "CannotRun", "Figures", "Results", "Row", "Table", "row_of")

#: The figures of one row of a table, by their names.
Figures: TypeAlias = dict[str, Any]

#: The only figure of a row that could not run. Its value is the reason.
FAILED = "cannot run"


#: The difference between the highest and the lowest of several runs, in per cent of the median.
SPREAD = "spread %"


class BenchError(Exception):
    """A benchmark cannot run, or has failed. The text says which one, and why."""


class CannotRun(BenchError):
    """A run cannot be made because something is missing here. The other runs go on; the row says what is missing."""


@dataclass(frozen=True, slots=True)
class Row:
    """
    One benchmark with one set of arguments, run once or several times.

    :param label: what distinguishes it from the other rows of its table
    :param figures: the figures by name; after several runs, the median of each
    :param runs: the figures of each run, if there were several
    """

    label: str
    figures: Figures
    runs: tuple[Figures, ...] = ()


def row_of(label: str, runs: Sequence[Figures], told: str) -> Row:
    """
    Make the row of one or more runs: the median of each figure, and how far apart the runs were.

    :param label: the label of the row
    :param runs: the figures of each run, at least one
    :param told: the name of the figure whose spread the row has
    """
    if len(runs) < 2 or any(FAILED in figures for figures in runs):
        return Row(label, next((figures for figures in runs if FAILED in figures), runs[0]))
    figures = {name: _middle([run[name] for run in runs]) for name in runs[0]}
    values = [run[told] for run in runs]
    if all(isinstance(value, int | float) for value in values) and figures[told]:
        figures[SPREAD] = round((max(values) - min(values)) / figures[told] * 100, 1)
    return Row(label, figures, tuple(runs))


def _middle(values: list[Any]) -> Any:
    """The median. Of two values in the middle it is the lower one, so that the result was really measured."""
    return median_low(values) if all(isinstance(value, int | float) for value in values) else values[0]


@dataclass(slots=True)
class Table:
    """
    All rows of one benchmark.

    :param title: the title, for people
    :param chart: the names of the figures that the chart shows
    :param lower_is_better: whether a smaller figure is better
    :param measured: when it was measured, and with which options
    :param rows: the rows
    """

    title: str
    chart: tuple[str, ...]
    lower_is_better: bool = False
    measured: str = ""
    rows: list[Row] = field(default_factory=list)

    @property
    def columns(self) -> list[str]:
        """The names of the figures, in the order in which they first appear in rows, without :data:`FAILED`."""
        return list(dict.fromkeys(name for row in self.rows for name in row.figures if name != FAILED))

    @property
    def failures(self) -> list[tuple[str, str]]:
        """The labels of the rows that could not run, each with the reason."""
        return [(row.label, row.figures[FAILED]) for row in self.rows if FAILED in row.figures]

    def cells(self, row: Row) -> list[str]:
        """A row's figures as texts, in the order of :attr:`columns`. A missing figure is an empty text."""
        return [_as_text(row.figures.get(name, "")) for name in self.columns]

    def figure(self, label: str, name: str) -> float | None:
        """A figure of the row with this label; None if there is no such row, or the figure is not a number."""
        found = next((row.figures.get(name) for row in self.rows if row.label == label), None)
        return float(found) if isinstance(found, int | float) else None


@dataclass(slots=True)
class Results:
    """
    The results of all benchmarks.

    :param environment: the machine, and the versions of Python and of packages
    :param tables: the tables by the names of their benchmarks
    """

    environment: dict[str, Any]
    tables: dict[str, Table] = field(default_factory=dict)

    def write(self, path: Path) -> None:
        """
        Write the results to a file, with :func:`kinformer.files.write_whole`.

        :raises OSError: if the file cannot be written
        """
        write_whole(path, json.dumps(asdict(self), indent=2) + "\n")

    @classmethod
    def read(cls, path: Path) -> Results:
        """
        Read the results from a file.

        :raises BenchError: if the file is not of the form that :meth:`write` writes
        :raises OSError: if it cannot be read
        """
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            return cls(found["environment"], {name: _table(table) for name, table in found["tables"].items()})
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise BenchError(f"{path}: holds no results of benchmarks: {error!r}") from error


def _table(found: dict[str, Any]) -> Table:
    rows: Iterable[dict[str, Any]] = found["rows"]
    return Table(
        found["title"],
        tuple(found["chart"]),
        found["lower_is_better"],
        found["measured"],
        [Row(row["label"], row["figures"], tuple(row.get("runs", ()))) for row in rows],
    )


def _as_text(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,}"
