"""``kinformer top``: show what a manager does. On a terminal the picture is renewed, elsewhere it is printed once."""

from __future__ import annotations

from collections.abc import Callable

import anyio
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from kinformer.cli.figures import rate, size, span
from kinformer.cli.inspection_tables import (
    CLUSTERS,
    CONTROLLERS,
    FAILING,
    INFORMERS,
    QUEUES,
    QUOTAS,
    TASKS,
    WEBHOOKS,
    failing_keys,
    table,
)
from kinformer.cli.remote import Remote, RemoteError
from kinformer.cli.remote_flags import RemoteFlags
from kinformer.logs import escaped
from kinformer.manager.inspection.views import Snapshot

__all__ = ("picture", "run")

#: The most rows of a section on a terminal.
_FEW = 5


async def run(*, remote: RemoteFlags, interval: float, once: bool, console: Console | None = None) -> int:
    """
    Show a manager until cancelled; only once with `once`, or if the output is not a terminal.

    :param remote: how to reach the manager
    :param interval: seconds from one snapshot to the next
    :param console: where to print; standard output by default
    :return: the exit status, 0
    :raises RemoteError: if the first request to the manager fails. Later failures are shown, and it is asked again
    """
    console = console or Console(highlight=False)
    async with Remote.reached_by(remote) as manager:
        snapshot = await manager.get("snapshot", Snapshot)
        if once or not console.is_terminal:
            # A file or a pipe has no width, so there is room for long lines.
            width = console.width if console.is_terminal else max(console.width, 160)
            console.width = width
            console.print(picture(snapshot, width, None))
            return 0
        with Live(console=console, screen=True, auto_refresh=False) as live:
            trouble = ""
            while True:
                live.update(picture(snapshot, console.width, console.height, trouble), refresh=True)
                await anyio.sleep(interval)
                try:
                    snapshot, trouble = await manager.get("snapshot", Snapshot), ""
                except RemoteError as error:
                    trouble = str(error)


def picture(snapshot: Snapshot, width: int, height: int | None, trouble: str = "") -> Group:
    """
    Draw a snapshot.

    :param width: the width of the terminal, in characters; a narrow one shows fewer columns
    :param height: the height of the terminal, in lines: the busiest rows come first, and rows that do not fit are left
        out. None for all rows
    :param trouble: the error because of which the snapshot is an old one, empty if there is none
    """
    parts: list[RenderableType] = [*_head(snapshot)]
    if trouble:
        parts.append(Text(escaped(trouble), "bold red"))
    room = None if height is None else max(height - len(parts) - 1, 0)
    for made, rows, most in _sections(snapshot, width):
        # A blank line, a heading, and at least one row.
        fits = rows if room is None else min(rows, room - 2)
        shown = fits if most is None or room is None else min(fits, most)
        if shown <= 0:
            continue
        parts += ["", made(shown)]
        if room is not None:
            room -= shown + 2
    return Group(*parts)


def _head(snapshot: Snapshot) -> list[Text]:
    process, leader = snapshot.process, snapshot.leader
    following = sum(it.state == "following" for it in snapshot.informers)
    role = ""
    if leader is not None:
        role = "leads, " if leader.leads else f"stands by for {leader.holder or 'nobody'}, "
    syncs = sum(it.syncs_per_second or 0 for it in snapshot.controllers)
    errors = sum(it.errors_per_second or 0 for it in snapshot.controllers)
    depth = sum(it.depth for it in snapshot.queues)
    shards = ""
    if snapshot.shards is not None:
        mine = next((it.ranges for it in snapshot.shards.members if it.is_self), 0)
        shards = f", {mine} of {len(snapshot.shards.ranges)} ranges, {len(snapshot.shards.members)} members"
    return [
        _line(
            f"{process.identity} {process.version}: {role}up {span(process.uptime_seconds)}, "
            f"{size(process.memory_bytes)}{shards}, for {process.server}"
        ),
        _line(
            f"{following} of {len(snapshot.informers)} informers follow; {depth:,} keys queued; "
            f"{rate(syncs)} syncs/s, {rate(errors)} errors/s"
        ),
    ]


def _line(text: str) -> Text:
    return Text(escaped(text), no_wrap=True, overflow="ellipsis")


def _sections(snapshot: Snapshot, width: int) -> list[tuple[Callable[[int], RenderableType], int, int | None]]:
    """
    The sections. For each: a function that makes its table with a number of rows, how many rows there are, and the most
    rows on a terminal (None for as many as fit).
    """
    controllers = sorted(snapshot.controllers, key=lambda it: (-it.failing, -(it.syncs_per_second or 0), it.name))
    queues = sorted(snapshot.queues, key=lambda it: (-it.depth, -it.delayed, -(it.adds_per_second or 0), it.name))
    informers = sorted(snapshot.informers, key=lambda it: (-(it.events_per_second or 0), -it.objects, it.name))
    webhooks = sorted(snapshot.webhooks, key=lambda it: (-it.failed, -(it.requests_per_second or 0), it.path))
    tasks = sorted(snapshot.tasks, key=lambda it: (-it.failing, -it.running, it.name))
    failing = failing_keys(snapshot.controllers)
    clusters = sorted(snapshot.clusters, key=lambda it: (not it.trouble, it.name))
    return [
        (lambda rows: table(CLUSTERS, clusters[:rows], width), len(clusters), _FEW),
        (lambda rows: table(FAILING, failing[:rows], width), len(failing), _FEW),
        (lambda rows: table(CONTROLLERS, controllers[:rows], width), len(controllers), 2 * _FEW),
        (lambda rows: table(TASKS, tasks[:rows], width), len(tasks), _FEW),
        (lambda rows: table(QUEUES, queues[:rows], width), len(queues), _FEW),
        (lambda rows: table(WEBHOOKS, webhooks[:rows], width), len(webhooks), _FEW),
        (lambda rows: table(QUOTAS, snapshot.quotas[:rows], width), len(snapshot.quotas), _FEW),
        (lambda rows: table(INFORMERS, informers[:rows], width), len(informers), None),
    ]
