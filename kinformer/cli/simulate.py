"""``kinformer simulate``: run a scenario from a file by many plans, and report the faults and what was found.

:func:`run` plays it with controllers in virtual time, and :func:`run_kopf` with an operator of kopf.
:func:`run_command` plays it with a command in real time.

The scenario, the controllers and the flags are checked before the first run. The exit status is 0 if nothing was found,
3 if something was found, and 1 if the simulation could not run.
"""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from kinformer.cli.modules import search_here
from kinformer.cli.simulation_flags import CheckFlags, CommandFlags, ExplorationFlags, ScenarioFlags
from kinformer.installed import module_of_path
from kinformer.simulation import (
    Checks,
    Faults,
    Plan,
    PlanError,
    Report,
    Trial,
    WorldOptions,
    explore,
    replay,
    systematic,
)
from kinformer.simulation.explore import Failure, Run
from kinformer.simulation.external import ExternalOptions, run_external
from kinformer.simulation.kopf_operator import KOPF_CHECKS, KopfOperator
from kinformer.simulation.scenario_file import read_scenario
from kinformer.simulation.single import KINDS, USUAL_KINDS, single_deviations
from kinformer.simulation.timeline_page import timeline_page
from kinformer.simulation.user import controllers_of

__all__ = (
    "FOUND",
    "SimulateError",
    "check_controllers",
    "checks_of",
    "run",
    "run_command",
    "run_kopf",
)

FOUND = 3
"""The exit status if a run has found an error of the controllers."""


class SimulateError(Exception):
    """A simulation cannot run. The text says why."""


#: The single deviations that are tried with a command. A run takes seconds, so only the most useful are tried.
_COMMAND_KINDS = ("crash", "away")
#: The most plans that are tried to make a failure of a command smaller.
_COMMAND_SHRINKING = 20


@dataclass(frozen=True, slots=True)
class _Asked:
    """
    How a trial is to be played and shown, checked.

    :param title: what is simulated, for a page
    :param words: the beginning of the command line that plays a plan again
    :param tail: its end
    """

    title: str
    words: Sequence[str]
    flags: ScenarioFlags
    faults: Faults | None
    plan: Plan | None
    seeds: int
    one_by_one: bool
    jobs: int = 1
    kinds: Sequence[str] = USUAL_KINDS
    shrinking: int = 400
    tail: Sequence[str] = ()


def run(*, controllers: Sequence[str], exploration: ExplorationFlags, flags: ScenarioFlags, checked: CheckFlags) -> int:
    """
    Run the simulation, and print the report.

    :return: the exit status: 0, or :data:`FOUND`
    :raises SimulateError: if a controller cannot be used, or an option has a wrong value
    :raises ScenarioFileError: if the scenario's file is not valid
    :raises ScenarioError: if the scenario fails without any fault
    :raises OSError: if a file cannot be read or written
    """
    checks = checks_of(checked)
    asked = _asked(", ".join(controllers), controllers, flags, checked, **asdict(exploration))
    search_here()
    check_controllers(controllers)
    return _report(Trial(read_scenario(flags.scenario, controllers), checks, WorldOptions(nodes=checked.nodes)), asked)


def run_kopf(*, module: str, exploration: ExplorationFlags, flags: ScenarioFlags, checked: CheckFlags) -> int:
    """
    Run the simulation of an operator that is written with kopf, and print the report.

    :return: the exit status: 0, or :data:`FOUND`
    :raises SimulateError: if kopf is not installed, the module cannot be imported, or an option has a wrong value
    :raises ScenarioFileError: if the scenario's file is not valid
    :raises ScenarioError: if the scenario fails without any fault
    :raises OSError: if a file cannot be read or written
    """
    if find_spec("kopf") is None:
        raise SimulateError("kopf is not installed")
    search_here()
    if not (Path(module).is_file() if module.endswith(".py") else _is_found(module)):
        raise SimulateError(f"{module}: there is no such module: want one that can be imported here, or a file")
    checks = checks_of(checked, KOPF_CHECKS)
    asked = _asked(module, ["kopf", module], flags, checked, **asdict(exploration))
    played = replace(read_scenario(flags.scenario, ()), programs=(("operator", KopfOperator(module)),))
    return _report(Trial(played, checks, WorldOptions(nodes=checked.nodes)), asked)


def _is_found(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def run_command(*, command: Sequence[str], own: CommandFlags, flags: ScenarioFlags, checked: CheckFlags) -> int:
    """
    Run a command beside the embedded server by many plans, and print the report.

    :return: the exit status: 0, or :data:`FOUND`
    :raises SimulateError: if the command cannot be found, or an option has a wrong value
    :raises ScenarioFileError: if the scenario's file is not valid
    :raises ScenarioError: if the scenario fails without any fault
    :raises OSError: if a file cannot be read or written
    """
    unknown = [kind for kind in own.kinds if kind not in KINDS]
    if unknown:
        raise SimulateError(f"--kind {unknown[0]}: there are {', '.join(KINDS)}")
    checks, next_command = checks_of(checked), shlex.split(own.upgrade_to)
    for words in filter(None, (command, next_command)):
        if shutil.which(words[0]) is None:
            raise SimulateError(f"{words[0]}: there is no such command")
    upgrade = ["--upgrade-to", own.upgrade_to] if own.upgrade_to else []
    asked = _asked(
        shlex.join(command),
        ["external", "--quiet", f"{own.quiet:g}", "--hurry", f"{own.hurry:g}", *upgrade],
        flags,
        checked,
        seeds=own.seeds,
        one_by_one=own.one_by_one,
        kinds=own.kinds or _COMMAND_KINDS,
        shrinking=_COMMAND_SHRINKING,
        tail=["--", *command],
    )
    options = ExternalOptions(
        tuple(command), tuple(next_command), quiet=own.quiet, hurry=own.hurry, nodes=checked.nodes
    )
    trial = Trial(read_scenario(flags.scenario, ()), checks, runs=partial(run_external, options=options))
    try:
        return _report(trial, asked)
    except PlanError as error:
        raise SimulateError(str(error)) from error


def _asked(title: str, words: Sequence[str], flags: ScenarioFlags, checked: CheckFlags, **more: Any) -> _Asked:
    """
    The flags that all these commands have, checked.

    :param words: the words of the command that plays a plan again, after ``kinformer simulate``
    :param more: the other fields of :class:`_Asked`
    :raises SimulateError: if a flag has a wrong value
    """
    words = ["kinformer", "simulate", *words, "--scenario", str(flags.scenario), *checked.words]
    return _Asked(title, words, flags, _faults(flags.rates, flags.most), _plan(flags.replay), **more)


def _report(trial: Trial, asked: _Asked) -> int:
    report = _play(trial, asked)
    if asked.flags.page is not None and report.failures:
        _write_page(report.failures[0], asked.flags.page, asked)
    if asked.flags.output == "json":
        print(json.dumps(_as_json(report, asked), indent=2, ensure_ascii=False))
    else:
        _show(report, asked)
    return 0 if report.is_clean else FOUND


def _plan(line: str | None) -> Plan | None:
    try:
        return Plan.parse(line) if line is not None else None
    except ValueError as error:
        raise SimulateError(f"--replay: {error}") from error


def checks_of(flags: CheckFlags, beside: Checks | None = None) -> Checks:
    """
    The checks that the flags ask for.

    :param beside: checks with what is left out, and what may differ, in any case
    :raises SimulateError: if an oracle is not known, or a pattern cannot be read
    """
    always = beside or Checks()
    try:
        return Checks(without=(*flags.without, *always.without), may_differ=(*flags.may_differ, *always.may_differ))
    except ValueError as error:
        raise SimulateError(str(error)) from error


def _faults(rates: Sequence[str], most: int) -> Faults | None:
    """Faults with the given rates and no others; None if no rate is given."""
    given: dict[str, Any] = {}
    for text in rates:
        name, _, rate = text.partition("=")
        try:
            given[name] = float(rate)
        except ValueError:
            raise SimulateError(f"--fault {text!r}: want NAME=RATE, like crash=0.05") from None
    try:
        return Faults.only(most=most, **given) if given else None
    except ValueError as error:
        raise SimulateError(f"--fault: {error}") from error


def check_controllers(names: Sequence[str]) -> None:
    """
    Check that each name is that of a function that makes a controller.

    :raises SimulateError: if one is not
    """
    for name in names:
        if module := module_of_path(name):
            raise SimulateError(f"{name} is a path: want MODULE:FACTORY, as in {module}")
        try:
            ((_, factory),) = controllers_of(name).items()
        except ModuleNotFoundError as error:
            raise SimulateError(
                f"{name}: there is no module {error.name}: want one that can be imported here"
            ) from error
        except AttributeError as error:
            raise SimulateError(f"{name}: {error}") from error
        except LookupError as error:
            raise SimulateError(str(error.args[0]) if error.args else f"{name}: not found") from error
        except Exception as error:
            raise SimulateError(f"{name} cannot be imported: {type(error).__name__}: {error}") from error
        if not callable(factory):
            raise SimulateError(f"{name} is a {type(factory).__name__}: want a function that makes a controller")


# -- playing ----------------------------------------------------------------------------------------------------------


def _play(trial: Trial, asked: _Asked) -> Report:
    if asked.plan is not None:
        return replay(trial, asked.plan)
    if asked.one_by_one:
        count = len(single_deviations(trial.undisturbed, asked.kinds))
        with _Shown("one deviation after the other", count) as shown:
            return systematic(
                trial,
                kinds=asked.kinds,
                jobs=asked.jobs,
                stop_after=asked.flags.failures,
                shrinking=asked.shrinking,
                on_run=shown.count,
            )
    seeds = range(asked.flags.first_seed, asked.flags.first_seed + asked.seeds)
    # Without rates, there are about two faults in a run: the rates are made to fit the length of the scenario.
    faults = asked.faults or replace(Faults(), most=asked.flags.most).spread(trial.undisturbed.counts)
    with _Shown("seeds", len(seeds)) as shown:
        return explore(
            trial,
            seeds,
            faults=faults,
            jobs=asked.jobs,
            stop_after=asked.flags.failures,
            shrinking=asked.shrinking,
            on_run=shown.count,
        )


class _Shown:
    """A progress bar on standard error, if that is a terminal."""

    def __init__(self, title: str, total: int) -> None:
        console = Console(stderr=True, highlight=False)
        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        failing = TextColumn("{task.fields[failing]} failing")
        self._progress = Progress(
            *columns, failing, TimeElapsedColumn(), console=console, transient=True, disable=not console.is_terminal
        )
        self._task = self._progress.add_task(title, total=total, failing=0)
        self._failing = 0

    def __enter__(self) -> _Shown:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def count(self, run: Run) -> None:
        self._failing += bool(run.oracles)
        self._progress.update(self._task, advance=1, failing=self._failing)


# -- showing ----------------------------------------------------------------------------------------------------------


def _command(failure: Failure, asked: _Asked) -> str:
    return shlex.join([*asked.words, "--replay", str(failure.plan), *asked.tail])


def _show(report: Report, asked: _Asked) -> None:
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = max(console.width, 120)
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("what went wrong")
    table.add_column("times", justify="right")
    for name, count in report.happened.most_common():
        table.add_row(name, str(count))
    if report.happened:
        console.print(table)
    runs = f"{report.runs} run{'' if report.runs == 1 else 's'}"
    time = f"{report.seconds:.0f} seconds" if asked.tail else f"{report.seconds / 3600:.1f} hours of virtual time"
    console.print(f"{runs}, {time}, {report.records} records.")
    if report.missed:
        console.print(escape(f"This did not happen: {' '.join(map(str, report.missed))}."), soft_wrap=True)
    if report.is_clean:
        console.print("Nothing was found.")
        return
    found = ", ".join(f"{name} in {count}" for name, count in report.failed.most_common())
    console.print(f"{report.failing} of them fail{'s' if report.failing == 1 else ''}: {found or 'without any fault'}.")
    for failure in report.failures:
        # A name that the user has chosen may look like rich's markup. Escaped, it is printed as it is.
        text = f"\n{failure}\n\nPlay it again:\n\n    {_command(failure, asked)}"
        console.print(escape(text), soft_wrap=True)
    if asked.flags.page is not None:
        console.print(f"\nThe whole run is in {escape(str(asked.flags.page))}", soft_wrap=True)


def _write_page(failure: Failure, page: Path, asked: _Asked) -> None:
    text = timeline_page(
        failure.history.records,
        failure.violations,
        plan=failure.plan,
        title=f"{asked.title}: {asked.flags.scenario.name}",
        command=_command(failure, asked),
    )
    page.write_text(text, encoding="utf-8")


def _as_json(report: Report, asked: _Asked) -> Mapping[str, Any]:
    return {
        "runs": report.runs,
        "failing": report.failing,
        "virtualSeconds": round(report.seconds, 3),
        "records": report.records,
        "faults": dict(sorted(report.happened.items())),
        "missed": [str(each) for each in report.missed],
        "oracles": dict(sorted(report.failed.items())),
        "failures": [
            {
                "plan": str(failure.plan),
                "found": str(failure.found),
                "violations": [
                    {"oracle": each.oracle, "text": each.text, "records": list(each.records)}
                    for each in failure.violations
                ],
                "replay": _command(failure, asked),
            }
            for failure in report.failures
        ],
    }
