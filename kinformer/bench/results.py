"""What came out of benchmarks: tables by name, with where they were measured, to be kept as JSON.

``{"environment": {…}, "tables": {NAME: {"title": …, "rows": [{"label": …, "figures": {FIGURE: number or text}}]}}}`` is
what :mod:`kinformer.bench.charts` draws, and what the documentation's page is made of.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median_low
from typing import Any, TypeAlias

__all__ = ("FAILED", "SPREAD", "BenchError", "CannotRun", "Figures", "Results", "Row", "Table", "row_of")

#: What came out, by name: one row of a table.
Figures: TypeAlias = dict[str, Any]

#: The figure that is there instead of others where something could not run: why.
FAILED = "cannot run"


#: From the lowest to the highest of several runs, as a share of the middle one.
SPREAD = "spread %"


class BenchError(Exception):
    """A benchmark cannot be run, or has failed; the text says which, and why."""


class CannotRun(BenchError):
    """A run lacks something that others do without; its row says what."""


@dataclass(frozen=True, slots=True)
class Row:
    """
    One benchmark with one set of arguments, run once or several times.

    :param label: what distinguishes it from the other rows of its table
    :param runs: the figures of each run, where there were several: `figures` has the middle one of each
    """

    label: str
    figures: Figures
    runs: tuple[Figures, ...] = ()


def row_of(label: str, runs: Sequence[Figures], told: str) -> Row:
    """
    The row of several runs: the middle one of each figure, and how far apart the runs were.

    :param told: the figure whose spread is given
    """
    if len(runs) < 2 or any(FAILED in figures for figures in runs):
        return Row(label, next((figures for figures in runs if FAILED in figures), runs[0]))
    figures = {name: _middle([run[name] for run in runs]) for name in runs[0]}
    values = [run[told] for run in runs]
    if all(isinstance(value, int | float) for value in values) and figures[told]:
        figures[SPREAD] = round((max(values) - min(values)) / figures[told] * 100, 1)
    return Row(label, figures, tuple(runs))


def _middle(values: list[Any]) -> Any:
    """One that was measured: the lower of two in the middle."""
    return median_low(values) if all(isinstance(value, int | float) for value in values) else values[0]


@dataclass(slots=True)
class Table:
    """
    All runs of one benchmark.

    :param chart: which figures are drawn, beside each other
    :param lower_is_better: whether less of them is better
    :param measured: when, and with which options
    """

    title: str
    chart: tuple[str, ...]
    lower_is_better: bool = False
    measured: str = ""
    rows: list[Row] = field(default_factory=list)

    @property
    def columns(self) -> list[str]:
        """The names of the figures, in the order in which rows first have them, without the reasons."""
        return list(dict.fromkeys(name for row in self.rows for name in row.figures if name != FAILED))

    @property
    def failures(self) -> list[tuple[str, str]]:
        """The rows that could not run, and why."""
        return [(row.label, row.figures[FAILED]) for row in self.rows if FAILED in row.figures]

    def cells(self, row: Row) -> list[str]:
        """A row's figures as a person reads them, in the order of :attr:`columns`."""
        return [_as_text(row.figures.get(name, "")) for name in self.columns]

    def figure(self, label: str, name: str) -> float | None:
        """A number, None where there is none."""
        found = next((row.figures.get(name) for row in self.rows if row.label == label), None)
        return float(found) if isinstance(found, int | float) else None


@dataclass(slots=True)
class Results:
    """
    :param environment: the machine and the versions
    """

    environment: dict[str, Any]
    tables: dict[str, Table] = field(default_factory=dict)

    def write(self, path: Path) -> None:
        """
        Keep them, all or nothing.

        :raises OSError: if that cannot be written
        """
        beside = path.with_name(f"{path.name}.part")
        try:
            beside.write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")
            os.replace(beside, path)  # noqa: PTH105  # its error names the file that was asked for
        except OSError as error:
            beside.unlink(missing_ok=True)
            raise OSError(error.errno, error.strerror, str(path)) from error

    @classmethod
    def read(cls, path: Path) -> Results:
        """
        :raises BenchError: if that is not what :meth:`write` wrote
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
