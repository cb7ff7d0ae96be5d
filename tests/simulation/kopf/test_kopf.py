"""Operators in kopf, as simulated processes in virtual time."""

from __future__ import annotations

import importlib
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from kinformer.simulation import Plan, World, WorldOptions, run_world
from kinformer.simulation.kopf_operator import KOPF_CHECKS, InThisThread, KopfOperator, NotSimulated
from kinformer.simulation.scenario_file import read_scenario
from kinformer.simulation.trial import Trial

pytest.importorskip("kopf")

HERE = Path(__file__).parent
LOST_NUMBER = 'final-state: configmaps/default/other: data.number is "1"; without faults it is "2"'
KILLED = Plan.parse("seed=0 crash(operator,write=1)")


def trial_of(module: Path | str) -> Trial:
    scenario = replace(read_scenario(HERE / "scenario.yaml", ()), programs=(("operator", KopfOperator(str(module))),))
    return Trial(scenario, KOPF_CHECKS, WorldOptions(patience=100))


@pytest.mark.parametrize(
    ("operator", "says"),
    [
        ("numbers", LOST_NUMBER),
        ("secrets", "final-state: secrets/default/web-*: there are 2 of them, and 1 without faults"),
    ],
)
def test_a_planted_bug_is_found_by_a_crash_and_its_twin_clean(
    operator: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = HERE / f"{operator}_operator.py"
    assert trial_of(file).play(KILLED).is_clean

    monkeypatch.setenv("BROKEN", "1")

    broken = trial_of(file)
    assert broken.undisturbed.is_clean
    assert [str(violation) for violation in broken.play(KILLED).violations] == [says]


def test_a_module_that_was_imported_before_the_run_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "tests.simulation.kopf.numbers_operator"
    monkeypatch.setenv("BROKEN", "1")
    importlib.import_module(name)

    violations = trial_of(name).play(KILLED).violations

    assert [str(violation) for violation in violations] == [LOST_NUMBER]


def test_an_operator_that_ends_by_an_error_takes_no_connection_of_others() -> None:
    plan = Plan.parse("seed=0 cut(operator,request=1,in_line)")

    outcome = trial_of(HERE / "numbers_operator.py").play(plan)

    assert any(record.what == "ended" and record.detail for record in outcome.history)
    assert outcome.is_clean, outcome.violations


def test_one_plan_of_an_operator_in_kopf_is_one_history() -> None:
    trial = trial_of(HERE / "secrets_operator.py")
    plan = Plan.parse("seed=7 crash(operator,write=2,lost) delay(operator,request=30,seconds=5)")

    assert trial.play(plan).history.digest() == trial.play(plan).history.digest()


DAEMON = """
import kopf

@kopf.daemon("configmaps")
def watch(stopped, **_):
    stopped.wait()
"""


def test_a_daemon_that_is_a_plain_function_is_refused_by_name(tmp_path: Path) -> None:
    (file := tmp_path / "daemon.py").write_text(DAEMON)

    ended = [record.detail for record in trial_of(file).undisturbed.history if record.what == "ended"]

    assert "the daemon watch is a plain function: want an async function" in ended[0]


def test_a_plain_function_that_opens_a_socket_gets_a_clear_error() -> None:
    with socket.socket() as opened:
        done = InThisThread().submit(lambda: opened.connect(("10.0.0.1", 6443)))

    with pytest.raises(NotSimulated, match=r"a plain function connects to .*: want an async function"):
        done.result()


def test_a_handler_that_is_a_plain_function_is_called() -> None:
    (web,) = trial_of(HERE / "secrets_operator.py").reference.state["configmaps/default/web"]

    assert web["metadata"]["annotations"]["example.com/changed"] == "yes"


def test_kopf_never_asks_in_vain_for_the_rest_of_a_time(tmp_path: Path) -> None:
    async def scenario(world: World) -> None:
        world.program(KopfOperator(str(empty)), "operator")
        await world.sleep(1)
        before = world.now
        await aiotime.sleep(-1e-15)
        assert world.now > before

    empty = tmp_path / "empty.py"
    empty.write_text("import kopf\n\n\n@kopf.on.startup()\nasync def start(**_): pass\n")
    from kopf._cogs.aiokits import aiotime

    assert run_world(scenario).error is None
