"""``kinformer simulate`` and the commands under it: their flags. Each of them exits with 3 if it finds a bug."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click

from kinformer.cli.flags import PathType
from kinformer.cli.groups import FlagGroup
from kinformer.cli.running import exit_with, logging_flags, with_logging
from kinformer.cli.simulation_flags import (
    CheckFlags,
    CommandFlags,
    ExplorationFlags,
    ReplayFlags,
    ScenarioFlags,
    SchemaFlags,
)
from kinformer.cli.subcommands import WithSubcommands

__all__ = ("simulate",)


def _simulate(run: Callable[..., int], options: dict[str, Any], **groups: type[FlagGroup]) -> None:
    """
    Run a command that simulates. It is a plain function, because each of its runs has an event loop of its own.

    :param groups: the groups of its flags, by the names of the parameters that take them
    """
    taken = {name: group.taken_from(options) for name, group in groups.items()}
    try:
        exit_with(partial(run, **taken, **with_logging(options, quiet=True)))
    except KeyboardInterrupt:
        sys.exit(130)


@click.command("kopf")
@click.argument("module", metavar="MODULE")
@ExplorationFlags.add_to
@ScenarioFlags.add_to
@CheckFlags.add_to
@logging_flags
def simulate_kopf(**options: Any) -> None:
    """
    Look for bugs of an operator that is written with kopf, in simulated runs with faults, in virtual time.

    MODULE is a Python file, or a module's name.

    Exits with 3 if it finds one.
    """
    from kinformer.cli.simulate import run_kopf

    _simulate(run_kopf, options, exploration=ExplorationFlags, flags=ScenarioFlags, checked=CheckFlags)


@click.command("external")
@click.argument("command", nargs=-1, required=True, metavar="-- COMMAND...")
@CommandFlags.add_to
@ScenarioFlags.add_to
@CheckFlags.add_to
@logging_flags
def simulate_external(**options: Any) -> None:
    """
    Look for bugs of an operator in any language, which COMMAND runs, in real time.

    COMMAND finds the embedded server by KUBECONFIG. It is killed and started again, and requests and events go wrong.

    Exits with 3 if it finds one.
    """
    from kinformer.cli.simulate import run_command

    _simulate(run_command, options, own=CommandFlags, flags=ScenarioFlags, checked=CheckFlags)


@click.command("schema")
@click.argument("controllers", nargs=-1, required=True, metavar="CONTROLLER...")
@SchemaFlags.add_to
@CheckFlags.add_to
@logging_flags
def simulate_schema(**options: Any) -> None:
    """
    Change each field of an object to other valid values and back, and look for bugs of CONTROLLER in virtual time.

    CONTROLLER is an installed one's name or MODULE:FACTORY. The values are made from the schema of the object's kind.

    Exits with 3 if it finds one.
    """
    from kinformer.cli.simulate_schema import run

    _simulate(run, options, flags=SchemaFlags, checked=CheckFlags)


@click.command("replay")
@click.argument("file", type=PathType(path_type=Path))
@click.argument("controllers", nargs=-1, metavar="[CONTROLLER]...")
@ReplayFlags.add_to
@logging_flags
def simulate_replay(**options: Any) -> None:
    """
    Replay FILE, which `kinformer manager --record FILE` has written, in virtual time, and show where syncs differ.

    CONTROLLER is an installed one's name or MODULE:FACTORY; those that were recorded if none is named.

    Exits with 3 if something differs.
    """
    from kinformer.cli.simulate_replay import run

    _simulate(run, options, flags=ReplayFlags)


@click.command(
    "simulate",
    cls=WithSubcommands,
    subcommands={
        "kopf": simulate_kopf,
        "external": simulate_external,
        "schema": simulate_schema,
        "replay": simulate_replay,
    },
)
@click.argument("controllers", nargs=-1, required=True, metavar="CONTROLLER...")
@ExplorationFlags.add_to
@ScenarioFlags.add_to
@CheckFlags.add_to
@logging_flags
def simulate(**options: Any) -> None:
    """
    Look for bugs of CONTROLLER, an installed one's name or MODULE:FACTORY, in simulated runs with faults.

    Exits with 3 if it finds one.

    "simulate kopf MODULE" does the same with an operator that is written with kopf, and "simulate external -- COMMAND"
    with an operator in any language, in real time. "simulate schema CONTROLLER" changes each field of an object.
    "simulate replay FILE" replays what a manager has recorded.
    """
    from kinformer.cli.simulate import run

    _simulate(run, options, exploration=ExplorationFlags, flags=ScenarioFlags, checked=CheckFlags)
