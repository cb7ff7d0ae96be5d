"""``python -m tests.endurance``: real processes for a long time, with whatever goes wrong with them.

::

    python -m tests.endurance processes --minutes 60 --seed 1         # members and leaders are killed, stopped, cut off
    python -m tests.endurance processes --kubeconfig ~/.kube/config   # the same on another server
    python -m tests.endurance memory --minutes 120 --rate 5000        # all controllers under a flood of events
    python -m tests.endurance quota --minutes 5 --rate 2000           # the quota webhook, whose replicas are killed

``make endurance ARGS="memory --minutes 60"`` does the same; ``processes`` may be left out. Each ends with a table, and
with status 1 if a rule was broken.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import click

from kinformer.cli.signals import run_until_signal
from tests.endurance import memory, outcome, processes, quota


def play(run: Callable[[], Awaitable[Any]], table: Callable[[Any], str]) -> None:
    """Play it, and end with status 1 if a rule was broken. SIGTERM and Ctrl-C end all that it has started, too."""

    async def played() -> int:
        came_of_it = await run()
        print(table(came_of_it))
        return int(bool(came_of_it.violations))

    sys.exit(run_until_signal(played, 1))


@click.group()
def main() -> None:
    """Real processes for a long time."""


@main.command("processes")
@click.option("--minutes", default=60.0, show_default=True, help="How long troubles are played.")
@click.option("--seed", default=1, show_default=True, help="Names the order of troubles.")
@click.option("--keys", default=2_000, show_default=True, help="How many objects there are.")
@click.option("--rate", default=100.0, show_default=True, help="How many of them are changed each second.")
@click.option("--kubeconfig", type=click.Path(path_type=Path), help="A server to use. The default: an embedded one.")
def play_processes(minutes: float, seed: int, keys: int, rate: float, kubeconfig: Path | None) -> None:
    """Three members of a group of shards, two candidates of an election, and what goes wrong with them."""
    settings = outcome.Settings(minutes, seed, keys, rate, kubeconfig)
    play(partial(processes.run, settings), outcome.table)


@main.command("memory")
@click.option("--minutes", default=120.0, show_default=True, help="How long the flood takes.")
@click.option("--rate", default=5_000.0, show_default=True, help="Events a second.")
@click.option("--seed", default=1, show_default=True, help="Names the order of those that are killed.")
@click.option("--warm", default=10.0, show_default=True, help="Minutes after which memory has to be flat.")
def play_memory(minutes: float, rate: float, seed: int, warm: float) -> None:
    """All controllers under a flood of events, with lists, restarts of the server, and members killed."""
    play(partial(memory.run, minutes, rate, seed, warm), memory.table)


@main.command("quota")
@click.option("--minutes", default=5.0, show_default=True, help="How long requests are sent.")
@click.option("--rate", default=2_000.0, show_default=True, help="How many requests are sent each second.")
@click.option("--every", default=5.0, show_default=True, help="Seconds between two SIGKILLs.")
@click.option("--seed", default=1, show_default=True, help="Names the order of those that are killed.")
def play_quota(minutes: float, rate: float, every: float, seed: int) -> None:
    """The quota webhook in three replicas, one of which is killed every few seconds."""
    play(partial(quota.run, minutes, rate, every, seed), quota.table)


if __name__ == "__main__":
    words = sys.argv[1:]
    main([*([] if words and words[0] in {*main.commands, "--help"} else ["processes"]), *words])
