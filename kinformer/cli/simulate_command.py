"""``kinformer simulate`` and the commands under it: their flags. Each of them exits with 3 if it finds a bug."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click

from kinformer.cli.flags import NumberRange, PathType
from kinformer.cli.running import exit_with, logging_flags, with_logging
from kinformer.cli.simulation_flags import exploration_flags, schema_flags, simulation_flags
from kinformer.cli.subcommands import WithSubcommands

__all__ = ("simulate",)


def _simulate(run: Callable[..., int], options: dict[str, Any]) -> None:
    """Run a command that simulates. It is a plain function, because each of its runs has an event loop of its own."""
    try:
        exit_with(partial(run, **with_logging(options, quiet=True)))
    except KeyboardInterrupt:
        sys.exit(130)


@click.command("kopf")
@click.argument("module", metavar="MODULE")
@exploration_flags
@simulation_flags
@logging_flags
def simulate_kopf(**options: Any) -> None:
    """
    Look for bugs of an operator that is written with kopf, in simulated runs with faults, in virtual time.

    MODULE is a Python file, or a module's name.

    Exits with 3 if it finds one.
    """
    from kinformer.cli.simulate import run_kopf

    _simulate(run_kopf, options)


@click.command("external")
@click.argument("command", nargs=-1, required=True, metavar="-- COMMAND...")
@click.option("--seeds", type=click.IntRange(1), default=20, show_default=True, help="The number of random runs.")
@click.option(
    "--one-by-one",
    is_flag=True,
    help="Instead of random runs, make one run for each single crash, and for each absence while the user writes.",
)
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    help="With --one-by-one: another kind of fault, such as hide or restart. May be given several times.",
)
@click.option(
    "--quiet",
    type=NumberRange(min=0.1),
    default=2.0,
    show_default=True,
    help="Seconds without a change after which everything has settled. It has to be longer than the command waits "
    "between two tries.",
)
@click.option(
    "--hurry",
    type=NumberRange(min=0.1),
    default=10.0,
    show_default=True,
    help="By how much the times of faults are divided.",
)
@click.option(
    "--upgrade-to",
    default="",
    metavar="COMMAND",
    help="The command of the next version, which the fault upgrade starts.",
)
@simulation_flags
@logging_flags
def simulate_external(**options: Any) -> None:
    """
    Look for bugs of an operator in any language, which COMMAND runs, in real time.

    COMMAND finds the embedded server by KUBECONFIG. It is killed and started again, and requests and events go wrong.

    Exits with 3 if it finds one.
    """
    from kinformer.cli.simulate import run_command

    _simulate(run_command, options)


@click.command("schema")
@click.argument("controllers", nargs=-1, required=True, metavar="CONTROLLER...")
@schema_flags
@logging_flags
def simulate_schema(**options: Any) -> None:
    """
    Change each field of an object to other valid values and back, and look for bugs of CONTROLLER in virtual time.

    CONTROLLER is an installed one's name or MODULE:FACTORY. The values are made from the schema of the object's kind.

    Exits with 3 if it finds one.
    """
    from kinformer.cli.simulate_schema import run

    _simulate(run, options)


@click.command("replay")
@click.argument("file", type=PathType(path_type=Path))
@click.argument("controllers", nargs=-1, metavar="[CONTROLLER]...")
@click.option("--key", default="*", metavar="KEY", help="Only syncs of this key; it may have wildcards.  [all]")
@click.option(
    "--test",
    type=PathType(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write a test that fails as long as the controllers do again what was wrong, and a copy of the recording "
    "beside it.",
)
@click.option(
    "--sync",
    "syncs",
    type=int,
    multiple=True,
    metavar="N",
    help="With --test: only what was wrong in this recorded sync. May be given several times.",
)
@click.option(
    "--wrong",
    default="",
    metavar="REQUEST",
    help="With --test: the request that was wrong, with wildcards, such as 'DELETE */pods/*'.  [what failed]",
)
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
@logging_flags
def simulate_replay(**options: Any) -> None:
    """
    Replay FILE, which `kinformer manager --record FILE` has written, in virtual time, and show where syncs differ.

    CONTROLLER is an installed one's name or MODULE:FACTORY; those that were recorded if none is named.

    Exits with 3 if something differs.
    """
    from kinformer.cli.simulate_replay import run

    _simulate(run, options)


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
@exploration_flags
@simulation_flags
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

    _simulate(run, options)
