"""A command in real time: faults happen to it by a plan, and oracles judge what the server saw.

The operators in kopf, with the package ``kubernetes`` and with client-go need seconds for each run, and are not played
here. ``docs/simulation-external.md`` has the commands.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from kinformer.simulation import Plan, PlanError, external
from kinformer.simulation.external import ExternalOptions, ExternalWorld, run_external
from kinformer.simulation.scenario_file import read_scenario
from kinformer.simulation.trial import Trial

HERE = Path(__file__).parent
MENDED = (sys.executable, "-S", str(HERE / "quick.py"))
BROKEN = ("env", "BROKEN=1", *MENDED)

#: A deviation of each kind that can happen to a command, in a run that has a place for all of them.
EVERYTHING = (
    "seed=0 cut(command,request=2,before) refuse(command,request=3,code=500) delay(command,request=4,seconds=1) "
    "pause(command,write=1,seconds=1) conflict(command,write=1) crash(command,write=1,lost) upgrade(command,write=2) "
    "partition(command,write=2,seconds=1) restartserver(change=2,gone) away(command,before=2)"
)


def trial_of(command: tuple[str, ...], next_command: tuple[str, ...] = ()) -> Trial:
    options = ExternalOptions(command, next_command, quiet=0.2, restart_after=0.01)
    return Trial(read_scenario(HERE / "scenario.yaml", ()), runs=partial(run_external, options=options))


def test_a_command_killed_between_two_writes_is_found_and_its_twin_clean() -> None:
    plan = Plan.parse("seed=0 crash(command,write=1)")
    broken, mended = trial_of(BROKEN), trial_of(MENDED)

    found = broken.play(plan)

    assert broken.undisturbed.is_clean
    assert [record.detail for record in found.history if record.what == "fault"] == [str(plan.deviations[0])]
    assert "final-state: secrets/default/web: is missing" in map(str, found.violations)
    assert mended.play(plan).is_clean


def test_each_kind_of_fault_happens_to_a_command() -> None:
    plan = Plan.parse(EVERYTHING)

    outcome = trial_of(MENDED, MENDED).play(plan)

    assert set(outcome.plan.deviations) == set(plan.deviations)
    assert outcome.is_clean, outcome.violations
    whats = {record.what for record in outcome.history if record.actor == "command"}
    assert whats >= {"start", "killed", "paused", "request", "answer", "write", "fault", "note"}


def test_the_timer_of_a_stale_server_ends_no_later_stale_server() -> None:
    async def scenario(world: ExternalWorld) -> None:
        timers: list[Callable[[], object]] = []
        (process,) = world.processes.values()
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(world, "call_later", lambda _, callback: timers.append(callback))
            world.fall_behind(process, 1, 1.0)
            world.fall_behind(process, 2, 1.0)
        first, second = timers

        first()
        assert process.front.watches.behind is not None
        second()
        assert process.front.watches.behind is None

    assert run_external(scenario, options=ExternalOptions(MENDED, quiet=0.2)).error is None


def test_a_command_that_writes_without_end_does_not_fill_the_history(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(external, "_LINES", 3)
    talking = ("sh", "-c", "seq 1000; exec " + shlex.join(MENDED))

    result = run_external(read_scenario(HERE / "scenario.yaml", ()), options=ExternalOptions(talking, quiet=0.2))

    noted = [record.detail for record in result.history if record.what == "note" and record.actor == "command"]
    assert noted == ["1", "2", "3", "further lines than these 3 are left out"]


def test_a_command_without_any_request_is_told_of() -> None:
    options = ExternalOptions(("sleep", "60"), quiet=0.1, patience=0.3)

    history = run_external(read_scenario(HERE / "scenario.yaml", ()), options=options).history

    assert history[-1].detail == "the command has sent no request: does it read KUBECONFIG?"


@pytest.mark.parametrize("deviation", ["jump(command,write=1)", "split(command,write=1)"])
def test_a_fault_that_cannot_happen_to_a_command_is_named(deviation: str) -> None:
    with pytest.raises(PlanError, match=r"cannot happen to a command"):
        run_external(lambda _: None, Plan.parse(f"seed=0 {deviation}"), options=ExternalOptions(("true",)))  # type: ignore[arg-type,return-value]  # it is not played
