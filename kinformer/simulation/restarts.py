"""Restarts: which of them are worth a run of their own.

A restart has a place, which is a write of the process, and a view, which is the earlier version that the process sees
afterwards. A run with 70 writes has some thousands of such pairs, and most of them are alike. :func:`telling` chooses
pairs so that each view is there with each state of each object that it does not show, and each write is a place:

* Two views are the same if the objects are, in their normal form. Only objects count whose resources the process
  reads. So a pod that takes the place of another one makes no new view.
* Two states of an object are the same if everything but its status is. A deletion, and another object of that name, are
  states of their own.

It leaves out a restart whose view was played already with each of the states that it would meet, but not with all of
them together. All public bugs in ``tests/simulation/bugs`` that a restart shows are found by those that it chooses.

This module does no I/O.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

from kinformer.meta.requests import UNCOUNTED, WRITES
from kinformer.simulation.history import History, Record
from kinformer.simulation.oracles.normal import group_of, normal_form

__all__ = ("Form", "Place", "forms_of", "places", "telling")

_UNCOUNTED = tuple(f"{resource}/" for resource in sorted(UNCOUNTED))
_WRITES = tuple(sorted(WRITES))
_READS = ("list", "watch", "get")

Place: TypeAlias = tuple[int, int]
"""A write of a process, counted from one, and how many changes the process is behind when it starts again."""


class Form(NamedTuple):
    """
    What a change has made of an object.

    :param group: the object's name, with ``*`` for a random end
    :param uid: the object's uid; empty if it was deleted
    :param whole: the object in normal form; empty if it was deleted
    :param wanted: the same without its status
    """

    group: str
    uid: str
    whole: str
    wanted: str


def forms_of(changes: Iterable[tuple[int, str, Mapping[str, Any] | None]]) -> dict[int, Form]:
    """
    The forms of changes, by their versions.

    :param changes: in their order: the version, the object's name as in records, and the object, None if it was deleted
    """
    groups: dict[str, str] = {}
    found: dict[int, Form] = {}
    for version, name, obj in changes:
        group = groups.setdefault(name, group_of(name, obj))
        if obj is None:
            found[version] = Form(group, "", "", "")
            continue
        ((normal,),) = normal_form({name: obj}, groups={name: group}).values() or (({},),)
        whole = _text(normal)
        found[version] = Form(group, obj["metadata"].get("uid", ""), whole, _text({**normal, "status": None}))
    return found


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)


def _steps(history: History, actor: str) -> Iterator[tuple[Record, bool]]:
    """
    The changes that are counted, from the first one that is not the server's own, and the answers to a process' writes.

    With each record comes whether it is such an answer.
    """
    has_begun = has_written = False
    for record in history:
        if record.what == "write" and not record.object.startswith(_UNCOUNTED):
            has_begun = has_begun or record.actor != "server"
            if has_begun:
                has_written = has_written or record.actor == actor
                yield record, False
        elif record.actor == actor and record.what in ("request", "answer"):
            # A request may make several changes, as a deletion does. The server makes them at once, and then answers.
            if record.what == "answer" and has_written and record.detail.startswith(_WRITES):
                yield record, True
            has_written = False


def places(history: History, actor: str) -> list[Place]:
    """All restarts of a process that are possible: after each of its writes, on each earlier version."""
    found: list[Place] = []
    changes = writes = 0
    for _, is_answer in _steps(history, actor):
        if is_answer:
            writes += 1
            found += ((writes, behind) for behind in range(1, changes + 1))
        else:
            changes += 1
    return found


def telling(history: History, actor: str, forms: Mapping[int, Form]) -> list[Place]:
    """
    The restarts of a process that are worth a run, in their order.

    :param history: what happened without faults
    :param actor: the process
    :param forms: by version what the changes have made
    """
    # Each write is the place of one restart at least.
    told = {place: frozenset([place[:1], *meetings]) for place, meetings in _meetings(history, actor, forms)}
    left = set().union(*told.values())
    chosen: list[Place] = []
    # The place with the most of what is left comes next. A number in the heap may be too large: then it is put right.
    heap = [(-len(meetings), place) for place, meetings in told.items()]
    heapq.heapify(heap)
    while left:
        most, place = heapq.heappop(heap)
        new = len(told[place] & left)
        if new == -most:
            chosen.append(place)
            left -= told[place]
        elif new:
            heapq.heappush(heap, (-new, place))
    return sorted(chosen)


_State: TypeAlias = Mapping[str, Form]
"""The last form of each object that the process reads, by the object's name."""


def _meetings(
    history: History, actor: str, forms: Mapping[int, Form]
) -> Iterator[tuple[Place, Iterator[tuple[Hashable, ...]]]]:
    """With each restart that is possible what meets there: its view, with each state that the view does not show."""
    reads = {
        record.object.partition("/")[0]
        for record in history
        if record.what == "request" and record.actor == actor and record.detail.startswith(_READS)
    }
    states: list[_State] = [{}]
    views = [0]
    numbers: dict[Hashable, int] = {(): 0}
    writes = 0
    for record, is_answer in _steps(history, actor):
        if is_answer:
            writes += 1
            for behind in range(1, len(states)):
                yield (writes, behind), _met(views[-1 - behind], states[-1 - behind], states[-1])
            continue
        state = states[-1]
        if record.object.partition("/")[0] in reads:
            # A change whose form is not known is like no other one.
            unknown = Form(record.object, *[f"version {record.version}"] * 3)
            state = {**state, record.object: forms.get(record.version, unknown)}
        states.append(state)
        view = tuple(sorted((form.group, form.whole) for form in state.values() if form.whole))
        views.append(numbers.setdefault(view, len(numbers)))


def _met(view: int, seen: _State, there: _State) -> Iterator[tuple[Hashable, ...]]:
    yield view, ""
    for name, now in there.items():
        before = seen.get(name)
        if before is not now:
            yield view, now.group, now.wanted, before is not None and before.uid == now.uid
