"""The flags of the commands that simulate."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from kinformer.cli.flags import PathType
from kinformer.cli.groups import F

__all__ = ("exploration_flags", "schema_flags", "simulation_flags")

_OF_ALL: tuple[Callable[[Any], Any], ...] = (
    click.option("--without", multiple=True, metavar="ORACLE", help="Leave out an oracle. May be given several times."),
    click.option(
        "--may-differ",
        multiple=True,
        metavar="OBJECTS:PATH",
        help="A field that may differ in the end, such as jobs.batch/*:status.failed. May be given several times.",
    ),
    click.option("--nodes", type=click.IntRange(0), default=0, help="The number of fake nodes that run pods."),
)
_OUTPUT: Callable[[Any], Any] = click.option(
    "-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True
)


def exploration_flags(command: F) -> F:
    """Add the flags of an exploration in virtual time to a command."""
    return _with_flags(
        command,
        click.option(
            "--seeds", type=click.IntRange(1), default=1000, show_default=True, help="The number of random runs."
        ),
        click.option("--jobs", type=click.IntRange(1), default=1, show_default=True, help="The number of processes."),
        click.option(
            "--one-by-one",
            is_flag=True,
            help="Instead of random runs, make one run for each single crash, hidden event, and restart with an old "
            "version.",
        ),
    )


def simulation_flags(command: F) -> F:
    """Add the flags that all commands that simulate have to a command."""
    return _with_flags(
        command,
        click.option(
            "--scenario",
            type=PathType(dir_okay=False, path_type=Path),
            required=True,
            help="A YAML file with what a user does, and the expected result.",
        ),
        click.option("--first-seed", type=click.IntRange(0), default=0, help="The seed of the first run.  [0]"),
        click.option(
            "--fault",
            "rates",
            multiple=True,
            metavar="NAME=RATE",
            help="Use only this fault, with this probability at each point: crash=0.05. May be given several times.",
        ),
        click.option("--most", type=click.IntRange(0), default=4, show_default=True, help="The most faults in a run."),
        *_OF_ALL,
        click.option("--replay", "replay_plan", metavar="PLAN", help="Run only this plan."),
        click.option(
            "--failures",
            type=click.IntRange(1),
            default=1,
            show_default=True,
            help="End after this number of failures.",
        ),
        click.option(
            "--page",
            type=PathType(dir_okay=False, path_type=Path),
            metavar="FILE",
            help="Write the timeline of the first failure to this file, as an HTML page.",
        ),
        _OUTPUT,
    )


def schema_flags(command: F) -> F:
    """Add the flags of the command that changes each field of an object."""
    return _with_flags(
        command,
        click.option(
            "--manifest",
            "manifests",
            type=PathType(dir_okay=False, exists=True, path_type=Path),
            required=True,
            multiple=True,
            help="A YAML file with objects. May be given several times. The fields of the last object are changed.",
        ),
        _paths("--field", "fields", "A field that is changed, with all within it; all fields if none is given."),
        _paths("--without-effect", "without_effect", "A field that may be without effect."),
        _paths("--one-way", "one_way", "A field whose earlier values may be seen later."),
        click.option(
            "--with",
            "steps",
            multiple=True,
            metavar="PATH=JSON",
            help="A change with which those without an effect are combined. May be given several times.",
        ),
        *_OF_ALL,
        click.option("--change", metavar="PATH=JSON", help="Play only this change, and show its timeline."),
        _OUTPUT,
    )


def _paths(name: str, parameter: str, help_: str) -> Callable[[F], F]:
    return click.option(
        name, parameter, multiple=True, metavar="PATH", help=f"{help_} A step may be *. May be given several times."
    )


def _with_flags(command: F, *flags: Callable[[F], F]) -> F:
    """Add these flags to a command. Its help shows them in this order."""
    for flag in reversed(flags):
        command = flag(command)
    return command
