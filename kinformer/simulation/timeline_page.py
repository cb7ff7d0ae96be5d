"""Timelines as a page: one HTML file that needs no other files, in light or dark.

:func:`timeline_page` makes the text of the file from records, violations and the plan. Each actor has a column. Faults
and the rows that show a violation are marked, and the violations link to their rows. A person can search, hide kinds of
rows, and click on a row to see all others about the same object.

This module writes no file; the caller does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from html import escape
from importlib.resources import files

from kinformer.simulation.history import Record
from kinformer.simulation.oracles import Violation
from kinformer.simulation.plan import Plan
from kinformer.simulation.timeline import Row, actors_of, rows

__all__ = ("timeline_page",)

_KINDS = (
    ("writes", "write", True),
    ("events", "event", True),
    ("syncs", "sync synced", True),
    ("requests", "request answer", False),
)


def timeline_page(
    records: Sequence[Record],
    violations: Sequence[Violation] = (),
    *,
    plan: Plan,
    title: str = "A simulated run",
    command: str = "",
) -> str:
    """
    The page, as the text of an HTML file.

    :param records: the records of the run
    :param violations: what is wrong
    :param plan: the plan of the run
    :param title: the title of the page
    :param command: the command that plays the run again, for a person to copy; empty for none
    """
    found = list(rows(records, violations))
    actors = actors_of(records)
    numbers = _rows_of_records(found)
    return "".join(
        (
            "<!doctype html>\n",
            '<html lang="en"><head><meta charset="utf-8">\n',
            f"<title>{escape(title)}</title>\n",
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n',
            '<meta name="color-scheme" content="light dark">\n',
            f"<style>\n{_asset('timeline.css')}</style></head><body>\n",
            *_header(violations, plan, title, command, numbers),
            _form(),
            '<div class="scroll" role="region" aria-label="Timeline" tabindex="0"><table>\n<thead><tr>',
            *(f'<th scope="col">{escape(name)}</th>' for name in ("row", "seconds", *actors)),
            "</tr></thead>\n<tbody>\n",
            *(_row(row, actors) for row in found),
            "</tbody></table></div>\n",
            f'<script type="module">\n{_asset("timeline.js")}</script>\n</body></html>\n',
        )
    )


@cache
def _asset(name: str) -> str:
    return (files("kinformer.simulation") / "page" / name).read_text(encoding="utf-8")


def _rows_of_records(found: Sequence[Row]) -> dict[int, int]:
    """The number of the row of each record."""
    return {record: row.number for row in found for record in range(row.number, row.number + row.count)}


def _header(
    violations: Sequence[Violation], plan: Plan, title: str, command: str, numbers: dict[int, int]
) -> Iterator[str]:
    yield f"<header><h1>{escape(title)}</h1>\n<p>Plan: <code>{escape(str(plan))}</code></p>\n"
    if command:
        yield f"<p>Play it again: <code>{escape(command)}</code></p>\n"
    if not violations:
        yield "<p>Nothing was wrong in this run.</p>\n"
    else:
        yield f"<h2>What is wrong ({len(violations)})</h2>\n<ul>\n"
        for violation in violations:
            links = ", ".join(f'<a href="#r{numbers[number]}">row {number}</a>' for number in violation.records)
            yield (
                f'<li><span class="violation"><b>{escape(violation.oracle)}</b>: {escape(violation.text)}</span>'
                f"{f' ({links})' if links else ''}</li>\n"
            )
        yield "</ul>\n"
    if plan.deviations:
        yield f"<h2>What went wrong on purpose ({len(plan.deviations)})</h2>\n<ul>\n"
        yield from (f"<li><code>{escape(str(deviation))}</code></li>\n" for deviation in plan.deviations)
        yield "</ul>\n"
    yield "</header>\n"


def _form() -> str:
    """The form for searching. It is hidden until the script shows it, because it does nothing without the script."""
    boxes = "".join(
        f'<label><input type="checkbox" value="{value}"{" checked" if checked else ""}> {label}</label>\n'
        for label, value, checked in _KINDS
    )
    return (
        '<form hidden><label>Search <input type="search" id="search" placeholder="pods/default/web"></label>\n'
        f'{boxes}<span class="quiet" id="count" role="status"></span>\n'
        '<span class="quiet">Click on a row to mark all about its object.</span></form>\n'
    )


def _row(row: Row, actors: Sequence[str]) -> str:
    marks = " ".join(name for name, given in (("cause", row.is_cause), ("shows", row.is_violation)) if given)
    text = escape(row.text)
    if row.count > 1:
        text += f' <span class="quiet">({row.count} handlers)</span>'
    if row.is_cause:
        text = f"went wrong: {text}"
    if row.is_violation:
        text += " ← shows what is wrong"
    place = actors.index(row.actor)
    cells = "<td></td>" * place + f"<td>{text}</td>" + "<td></td>" * (len(actors) - place - 1)
    return (
        f'<tr id="r{row.number}" data-what="{escape(row.what)}" data-object="{escape(row.object)}"'
        f' class="{marks}">'
        f"<td>{row.number}</td><td>{row.time:.3f}</td>{cells}</tr>\n"
    )
