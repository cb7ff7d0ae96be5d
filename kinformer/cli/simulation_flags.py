"""The flags of the commands that simulate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from kinformer.cli.flags import NumberRange, PathType
from kinformer.cli.groups import FlagGroup, flag, path_flag

__all__ = ("CheckFlags", "CommandFlags", "ExplorationFlags", "ReplayFlags", "ScenarioFlags", "SchemaFlags")


def _several(metavar: str | None, help_: str, **settings: Any) -> Any:
    return flag((), f"{help_} May be given several times.", multiple=True, metavar=metavar, **settings)


def _output() -> Any:
    return flag("text", "", name="-o --output", type=click.Choice(["text", "json"]))


@dataclass(frozen=True, slots=True)
class CheckFlags(FlagGroup):
    """What is checked, and on how many nodes."""

    without: Sequence[str] = _several("ORACLE", "Leave out an oracle.")
    may_differ: Sequence[str] = _several(
        "OBJECTS:PATH", "A field that may differ in the end, such as jobs.batch/*:status.failed."
    )
    nodes: int = flag(0, "The number of fake nodes that run pods.", type=click.IntRange(0))

    @property
    def words(self) -> list[str]:
        """These flags on a command line."""
        words = ["--nodes", str(self.nodes)] if self.nodes else []
        for name in self.without:
            words += ["--without", name]
        for pattern in self.may_differ:
            words += ["--may-differ", pattern]
        return words


@dataclass(frozen=True, slots=True)
class ExplorationFlags(FlagGroup):
    """How many runs are made in virtual time."""

    seeds: int = flag(1000, "The number of random runs.", type=click.IntRange(1))
    jobs: int = flag(1, "The number of processes.", type=click.IntRange(1))
    one_by_one: bool = flag(
        False,
        "Instead of random runs, make one run for each single crash, hidden event, and restart with an old version.",
        is_flag=True,
    )


@dataclass(frozen=True, slots=True)
class CommandFlags(FlagGroup):
    """How many runs are made with a command in real time."""

    seeds: int = flag(20, "The number of random runs.", type=click.IntRange(1))
    one_by_one: bool = flag(
        False,
        "Instead of random runs, make one run for each single crash, and for each absence while the user writes.",
        is_flag=True,
    )
    kinds: Sequence[str] = _several(
        None, "With --one-by-one: another kind of fault, such as hide or restart.", name="--kind"
    )
    quiet: float = flag(
        2.0,
        "Seconds without a change after which everything has settled. It has to be longer than the command waits "
        "between two tries.",
        type=NumberRange(min=0.1),
    )
    hurry: float = flag(10.0, "By how much the times of faults are divided.", type=NumberRange(min=0.1))
    upgrade_to: str = flag("", "The command of the next version, which the fault upgrade starts.", metavar="COMMAND")


@dataclass(frozen=True, slots=True)
class ScenarioFlags(FlagGroup):
    """What is played, and what becomes of a failure."""

    scenario: Path = path_flag(
        "A YAML file with what a user does, and the expected result.", dir_okay=False, required=True
    )
    first_seed: int = flag(0, "The seed of the first run.  [0]", type=click.IntRange(0))
    rates: Sequence[str] = _several(
        "NAME=RATE", "Use only this fault, with this probability at each point: crash=0.05.", name="--fault"
    )
    most: int = flag(4, "The most faults in a run.", type=click.IntRange(0))
    replay: str | None = flag(None, "Run only this plan.", metavar="PLAN")
    failures: int = flag(1, "End after this number of failures.", type=click.IntRange(1))
    page: Path | None = path_flag(
        "Write the timeline of the first failure to this file, as an HTML page.", dir_okay=False, metavar="FILE"
    )
    output: str = _output()


def _paths(name: str, help_: str) -> Any:
    return _several("PATH", f"{help_} A step may be *.", name=name)


@dataclass(frozen=True, slots=True)
class SchemaFlags(FlagGroup):
    """Which fields of an object are changed, and how."""

    manifests: Sequence[Path] = _several(
        None,
        "A YAML file with objects. The fields of the last object are changed.",
        name="--manifest",
        type=PathType(dir_okay=False, exists=True, path_type=Path),
        required=True,
    )
    fields: Sequence[str] = _paths(
        "--field", "A field that is changed, with all within it; all fields if none is given."
    )
    without_effect: Sequence[str] = _paths("--without-effect", "A field that may be without effect.")
    one_way: Sequence[str] = _paths("--one-way", "A field whose earlier values may be seen later.")
    steps: Sequence[str] = _several(
        "PATH=JSON", "A change with which those without an effect are combined.", name="--with"
    )
    change: str | None = flag(None, "Play only this change, and show its timeline.", metavar="PATH=JSON")
    output: str = _output()


@dataclass(frozen=True, slots=True)
class ReplayFlags(FlagGroup):
    """Which syncs of a recording are replayed, and which test is made of them."""

    key: str = flag("*", "Only syncs of this key; it may have wildcards.  [all]", metavar="KEY", show_default=False)
    test: Path | None = path_flag(
        "Write a test that fails as long as the controllers do again what was wrong, and a copy of the recording "
        "beside it.",
        dir_okay=False,
        metavar="FILE",
    )
    syncs: Sequence[int] = _several(
        "N", "With --test: only what was wrong in this recorded sync.", name="--sync", type=int
    )
    wrong: str = flag(
        "",
        "With --test: the request that was wrong, with wildcards, such as 'DELETE */pods/*'.  [what failed]",
        metavar="REQUEST",
    )
    output: str = _output()
