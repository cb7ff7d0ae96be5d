"""``kinformer debug``: parts of what there is to see of a manager, as tables and for scripts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from kinformer.cli.figures import span
from kinformer.cli.inspection_tables import CONTROLLERS, INFORMERS, QUEUES, RUNS, Column, table, trigger_text
from kinformer.cli.remote import Remote, RemoteError
from kinformer.cli.remote_flags import RemoteFlags
from kinformer.logs import escaped
from kinformer.manager.inspection.views import Answer, ControllerView, InformerView, QueueView, Why

__all__ = ("show_part", "why")

_PARTS: dict[str, tuple[Sequence[Column], Any]] = {
    "informers": (INFORMERS, list[InformerView]),
    "queues": (QUEUES, list[QueueView]),
    "controllers": (CONTROLLERS, list[ControllerView]),
}


async def show_part(part: str, *, remote: RemoteFlags, output: str, console: Console | None = None) -> int:
    """
    Show all informers, queues or controllers.

    :param output: ``json`` for scripts, ``table`` for people
    :raises RemoteError: if the manager cannot be asked
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
    Show what is known of a key.

    :param controller: only what that one knows, all if empty
    :raises RemoteError: if the manager cannot be asked, or knows nothing of the key
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
    return 0


def _state(one: Why) -> str:
    told = [one.state if one.running_seconds is None else f"running for {span(one.running_seconds)}"]
    if one.running_seconds is not None and one.is_queued:
        told.append("to be synced once more after that")
    if one.due_seconds is not None:
        told.append(f"tried again in {span(one.due_seconds)}")
    if one.failures:
        told.append(f"came back {one.failures} time{'' if one.failures == 1 else 's'} in a row")
    if one.trigger is not None:
        told.append(f"for: {trigger_text(one.trigger)}")
    return ", ".join(told)


def _echo_json(body: bytes) -> None:
    # All but ASCII is escaped: a terminal would obey some of the rest.
    click.echo(json.dumps(json.loads(body), indent=2))


def _wide(console: Console | None) -> Console:
    """A console on which nothing is cut off that no person looks at."""
    console = console or Console(highlight=False)
    if not console.is_terminal:
        console.width = max(console.width, 200)
    return console
