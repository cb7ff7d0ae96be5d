"""``kinformer debug``: shows the state of a running manager, as tables or as JSON for scripts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from kinformer.cli.figures import ago, span
from kinformer.cli.inspection_tables import CONTROLLERS, INFORMERS, QUEUES, RUNS, Column, table, trigger_text
from kinformer.cli.remote import Remote, RemoteError
from kinformer.cli.remote_flags import RemoteFlags
from kinformer.logs import escaped
from kinformer.manager.inspection.views import Answer, ControllerView, InformerView, QueueView, TaskView, Why

__all__ = ("show_part", "why")

_PARTS: dict[str, tuple[Sequence[Column], Any]] = {
    "informers": (INFORMERS, list[InformerView]),
    "queues": (QUEUES, list[QueueView]),
    "controllers": (CONTROLLERS, list[ControllerView]),
}


async def show_part(part: str, *, remote: RemoteFlags, output: str, console: Console | None = None) -> int:
    """
    Show all informers, queues or controllers.

    :param part: ``informers``, ``queues`` or ``controllers``
    :param remote: the address of the manager
    :param output: ``json`` for scripts, ``table`` for people
    :param console: where to print tables; None: standard output
    :raises RemoteError: if the request to the manager fails
    """
    async with Remote.reached_by(remote) as manager:
        if output == "json":
            _echo_json(await manager.fetch(part))
            return 0
        columns, type_ = _PARTS[part]
        console = _wide(console)
        console.print(table(columns, await manager.get(part, type_), console.width))
    return 0


async def why(key: str, *, controller: str, remote: RemoteFlags, output: str, console: Console | None = None) -> int:
    """
    Show what a manager knows about a key.

    :param key: ``namespace/name``, or ``name``
    :param controller: the name of the only controller to ask; all if empty
    :param remote: the address of the manager
    :param output: ``json`` for scripts, ``table`` for people
    :param console: where to print tables; None: standard output
    :raises RemoteError: if the request to the manager fails, or nothing is known about the key
    """
    async with Remote.reached_by(remote) as manager:
        found = await manager.get("why", Answer, key=key, controller=controller)
        if not found.controllers and not found.objects:
            like = f": did you mean {', '.join(found.nearest)}?" if found.nearest else ""
            raise RemoteError(f"nothing is known of the key {key}{like}")
        if output == "json":
            _echo_json(await manager.fetch("why", key=key, controller=controller))
            return 0
    console = _wide(console)
    caches = ", ".join(f"{it.informer} (version {it.version})" for it in found.objects) or "no cache"
    console.print(Text(escaped(f"{found.key}: in {caches}"), "bold"))
    if not found.controllers:
        console.print("No controller remembers a sync of it.")
    for one in found.controllers:
        console.print()
        console.print(Text(escaped(f"{one.controller}: {_state(one)}")))
        if one.runs:
            console.print(table(RUNS, one.runs, console.width, wraps=True))
    if found.replay:
        console.print()
        console.print(Text(escaped(f"It is recorded. To replay a copy of its files: {found.replay}")))
    return 0


def _state(one: Why) -> str:
    told = [one.state if one.running_seconds is None else f"running for {span(one.running_seconds)}"]
    if one.running_seconds is not None and one.is_queued:
        told.append("to be synced once more after that")
    if one.due_seconds is not None:
        has_failed = bool(one.runs) and bool(one.runs[0].error)
        told.append(f"{'tried' if has_failed else 'synced'} again in {span(one.due_seconds)}")
    if one.failures:
        told.append(f"came back {one.failures} time{'' if one.failures == 1 else 's'} in a row")
    if one.trigger is not None:
        told.append(f"for: {trigger_text(one.trigger)}")
    if one.daemon is not None:
        told.append(_daemon(one.daemon))
    return ", ".join(told)


def _daemon(task: TaskView) -> str:
    error = f" ({task.error})" if task.error else ""
    if task.state == "failed":
        return f"its daemon failed {ago(task.seconds)}{error} and is called again in {span(task.due_seconds)}"
    if task.state == "done":
        return f"its daemon returned {ago(task.seconds)}"
    return f"its daemon has been running for {span(task.seconds)}{', after an error' if error else ''}{error}"


def _echo_json(body: bytes) -> None:
    # json.dumps escapes all characters but ASCII, so no control characters reach the terminal.
    click.echo(json.dumps(json.loads(body), indent=2))


def _wide(console: Console | None) -> Console:
    """A console that does not cut off text if its output is no terminal."""
    console = console or Console(highlight=False)
    if not console.is_terminal:
        console.width = max(console.width, 200)
    return console
