"""Timelines as text: what each actor saw and did, each actor in its own column.

The text is made from records and violations. Faults are marked with ``!``, and records that show a violation with
``>``. A history has hundreds of records, but a failure is about a few objects. So the text leaves out records about
other objects, and says how many. The page (:mod:`~kinformer.simulation.timeline_page`) leaves out nothing.

This module does no I/O.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from kinformer.simulation.history import Record
from kinformer.simulation.oracles import Violation

__all__ = ("Row", "actors_of", "rows", "text_timeline")

_WRITES = {"ADDED": "creates", "MODIFIED": "changes", "DELETED": "deletes"}
_SEEN = {"add": "sees new", "update": "sees changed", "delete": "sees deleted"}


@dataclass(frozen=True, slots=True)
class Row:
    """
    A row of a timeline.

    :param number: the number of its first record
    :param time: the seconds of virtual time since the run began
    :param actor: who saw or did it
    :param what: the kind of its records
    :param text: what happened, in words
    :param object: the object, as in records
    :param count: the number of its records: if several handlers get one event, they share a row
    :param is_cause: whether it is a fault
    :param is_violation: whether a violation names one of its records
    """

    number: int
    time: float
    actor: str
    what: str
    text: str
    object: str = ""
    count: int = 1
    is_cause: bool = False
    is_violation: bool = False


def actors_of(records: Iterable[Record]) -> list[str]:
    """The actors, one for each column: user, server and nodes, then the others in the order of their first record."""
    found = dict.fromkeys(record.actor for record in records)
    return sorted(found, key=lambda actor: {"user": 0, "server": 1, "nodes": 2}.get(actor, 3))


def rows(records: Sequence[Record], violations: Iterable[Violation] = ()) -> Iterator[Row]:
    """A row for each record. If several handlers get one event, there is one row for all of them."""
    shown = {number for violation in violations for number in violation.records}
    place = 0
    while place < len(records):
        record = records[place]
        same = place + 1
        while record.what == "event" and same < len(records) and _is_same_event(record, records[same]):
            same += 1
        yield Row(
            number=record.number,
            time=record.time,
            actor=record.actor,
            what=record.what,
            text=_text(record),
            object=record.object,
            count=same - place,
            is_cause=record.what == "fault",
            is_violation=any(other.number in shown for other in records[place:same]),
        )
        place = same


def _is_same_event(one: Record, other: Record) -> bool:
    return (
        other.what == "event"
        and (other.actor, other.object, other.version) == (one.actor, one.object, one.version)
        and other.detail.partition(" ")[0] == one.detail.partition(" ")[0]
    )


def _text(record: Record) -> str:
    """A record in words."""
    verb, _, rest = record.detail.partition(" ")
    name = f"{record.object} @{record.version}" if record.version else record.object
    match record.what:
        case "write":
            return f"{_WRITES.get(verb, verb)} {name}"
        case "event":
            return f"{_SEEN.get(verb, verb)} {name}"
        case "sync":
            return f"{record.detail}: syncs {name}"
        case "synced":
            return f"{verb}: {rest} for {name}" if rest else f"{verb}: has synced {name}"
        case "barred":
            return f"{record.detail}: is in a sync of {name}, and can write no more"
        case "start":
            return f"starts on {record.detail}" if record.detail else "starts"
        case "killed" | "paused" | "resumed" | "ended":
            word = {"killed": "is killed", "paused": "is paused", "resumed": "goes on", "ended": "ends"}[record.what]
            return f"{word}: {record.detail}" if record.detail else word
        case "fault":
            return f"{record.detail} at {name}" if name else record.detail
        case "request":
            return f"asks {verb} {name} {rest}".rstrip()
        case "answer":
            return f"gets {record.detail} for {name}" if name else f"gets {record.detail}"
    return " ".join(filter(None, (name, record.detail)))


_ALWAYS = frozenset({"fault", "start", "ended", "killed", "paused", "resumed", "note"})
_NEVER = frozenset({"request", "answer"})


def _of_interest(found: Sequence[Row]) -> list[Row]:
    """The rows about the violations: those of their objects, all faults, and the starts and ends of processes."""
    objects = {row.object for row in found if row.is_violation and row.object}
    # A sync is of a key: namespace and name without the resource.
    keys = {name.partition("/")[2] for name in objects}
    focus = objects | keys
    return [row for row in found if row.is_violation or _is_of_interest(row, focus)]


def _is_of_interest(row: Row, focus: set[str]) -> bool:
    if row.object.startswith(("events/", "events.events.k8s.io/", "leases.coordination.k8s.io/")):
        return row.what in _ALWAYS
    if row.what in _ALWAYS or row.what in _NEVER:
        return row.what in _ALWAYS
    return not focus or row.object in focus or (row.what == "write" and row.actor == "user")


def text_timeline(
    records: Sequence[Record],
    violations: Sequence[Violation] = (),
    *,
    width: int = 120,
    most: int = 60,
    everything: bool = False,
) -> str:
    """
    The timeline for a terminal or the output of a test.

    :param records: the records of the run
    :param violations: what is wrong
    :param width: the width of a line, in characters
    :param most: the most rows; rows near to faults and violations are kept
    :param everything: whether to show all records, in place of those that are about the violations
    """
    found = list(rows(records, violations))
    chosen = found if everything else _of_interest(found)
    hidden = len(found) - len(chosen)
    lines = _table(chosen if everything else _thinned(chosen, most), actors_of(records), width)
    if hidden:
        lines.append(f"({hidden} more rows are about other objects, or are requests)")
    return "\n".join(lines)


def _thinned(chosen: list[Row], most: int) -> list[Row | None]:
    """At most `most` rows: the marked rows and those near to them. None stands for rows that are left out."""
    if len(chosen) <= most:
        return list(chosen)
    marked = [place for place, row in enumerate(chosen) if row.is_cause or row.is_violation]
    # The nearer a row is to a marked one, the more it helps a person who looks for the cause.
    near = sorted(range(len(chosen)), key=lambda place: min((abs(place - mark) for mark in marked), default=-place))
    kept = sorted(near[:most])
    thinned: list[Row | None] = []
    before = -1
    for place in kept:
        if place != before + 1:
            thinned.append(None)
        thinned.append(chosen[place])
        before = place
    if before != len(chosen) - 1:
        thinned.append(None)
    return thinned


def _table(chosen: Sequence[Row | None], actors: Sequence[str], width: int) -> list[str]:
    times = 11
    columns = max(len(actors), 1)
    # The columns are narrow, because a row has the text of one actor, which may run on into the columns to its right.
    each = min(max((width - times - 2) // columns, 16), 28)
    head = f"{'':2}{'seconds':>{times - 2}}  " + "".join(f"{actor:<{each}}" for actor in actors)
    lines = [head.rstrip(), "-" * min(width, times + 2 + each * columns)]
    for row in chosen:
        if row is None:
            lines.append(f"{'…':>{times}}")
            continue
        mark = ("!" if row.is_cause else " ") + (">" if row.is_violation else " ")
        place = actors.index(row.actor) if row.actor in actors else 0
        room = max(width - times - 2 - each * place, each)
        texts = textwrap.wrap(row.text, room, subsequent_indent="  ", break_on_hyphens=False) or [""]
        for number, text in enumerate(texts):
            start = f"{mark}{row.time:{times - 2}.3f}" if number == 0 else " " * times
            lines.append(f"{start}  {' ' * (each * place)}{text}".rstrip())
    return lines
