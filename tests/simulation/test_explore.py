"""Exploration: it finds what a tiny controller does wrong, with the smallest plan, and finds nothing elsewhere."""

from __future__ import annotations

import sys
import types
from functools import partial

import anyio
import anyio.lowlevel
import pytest

from kinformer.simulation import Checks, Faults, Plan, World, WorldOptions
from kinformer.simulation.explore import NotShareable, Report, Run, explore, replay, systematic
from kinformer.simulation.faults import RATES
from kinformer.simulation.plan import Crash, Deviation, Hide, Restart
from kinformer.simulation.single import KINDS, single_deviations
from kinformer.simulation.trial import ScenarioError, Trial
from tests.simulation.tiny import APP, broken_scenario, make_broken, make_mended, mended_scenario

CRASHES = Faults.only(crash=0.5)


@pytest.fixture(scope="module")
def broken() -> Trial:
    return Trial(broken_scenario)


@pytest.fixture(scope="module")
def mended() -> Trial:
    return Trial(mended_scenario)


def the_failure(report: Report) -> tuple[Plan, list[str]]:
    (failure,) = report.failures
    return failure.plan, [str(violation) for violation in failure.violations]


def test_random_seeds_find_the_bug_and_the_plan_is_one_crash(broken: Trial) -> None:
    plan, violations = the_failure(explore(broken, range(100), faults=CRASHES))

    assert [type(deviation) for deviation in plan.deviations] == [Crash]
    assert plan.deviations[0].write == 1  # type: ignore[union-attr]
    assert violations == ["final-state: configmaps/default/web-child: is missing"]


def test_the_systematic_pass_finds_it_too(broken: Trial) -> None:
    plan, _ = the_failure(systematic(broken))

    assert str(plan).startswith("seed=0 crash(manager,write=1")


def test_the_mended_twin_is_clean_under_both(mended: Trial) -> None:
    random, one_by_one = explore(mended, range(30)), systematic(mended)

    assert random.is_clean
    assert one_by_one.is_clean
    assert (random.runs, one_by_one.runs > 10) == (30, True)


def test_a_failure_is_played_again_by_its_line(broken: Trial) -> None:
    failure = explore(broken, range(100), faults=CRASHES).failures[0]

    again = replay(broken, Plan.parse(str(failure.plan))).failures[0]

    assert again.violations == failure.violations
    assert again.history.digest() == failure.history.digest()


@pytest.mark.parametrize("seed", range(8))
def test_what_was_drawn_by_rates_is_played_again_byte_for_byte(mended: Trial, seed: int) -> None:
    drawn = mended.play(Plan(seed), Faults.only(**dict.fromkeys(RATES, 0.05), most=6))

    again = mended.play(Plan.parse(str(drawn.plan)))

    assert again.history.digest() == drawn.history.digest()
    assert again.plan == drawn.plan


def test_a_scenario_that_other_processes_cannot_import_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("here_and_nowhere_else")
    exec("async def scenario(world): pass", module.__dict__)
    monkeypatch.setitem(sys.modules, module.__name__, module)

    with pytest.raises(NotShareable, match="has ended: can it be imported there"):
        explore(Trial(module.scenario), range(2), jobs=2)


def test_a_plan_that_was_not_shrunk_fails_as_found(broken: Trial) -> None:
    failure = explore(broken, range(100), faults=CRASHES, shrinking=0).failures[0]

    assert failure.plan == failure.found
    assert not replay(broken, failure.found).is_clean


def test_a_failure_shows_what_is_wrong_its_plan_and_history(broken: Trial) -> None:
    text = str(systematic(broken).failures[0])

    assert "1 thing is wrong under this plan:\n\n    seed=0 crash(manager,write=1" in text
    assert "final-state: configmaps/default/web-child: is missing" in text
    assert "is killed" in text
    assert any(line.startswith("!") and "crash(manager" in line for line in text.splitlines())


def test_each_run_is_told_of_in_the_order_of_the_seeds(mended: Trial) -> None:
    runs: list[Run] = []

    report = explore(mended, range(5), faults=Faults.only(), on_run=runs.append)

    assert [run.plan.seed for run in runs] == [0, 1, 2, 3, 4]
    assert report.records == sum(run.records for run in runs) > 0
    assert report.seconds == sum(run.seconds for run in runs) > 0


def test_it_ends_after_as_many_different_failures_as_are_asked_for(broken: Trial) -> None:
    first, more = (explore(broken, range(40), faults=CRASHES, stop_after=count) for count in (1, 9))

    assert (len(first.failures), len(more.failures)) == (1, 1)
    assert first.runs < more.runs == 40
    assert more.failing > 1


def test_two_processes_find_the_same_as_one(broken: Trial) -> None:
    one, two = (explore(broken, range(16), faults=CRASHES, jobs=jobs, stop_after=9) for jobs in (1, 2))

    assert the_failure(two) == the_failure(one)
    assert (two.runs, two.failing, two.records, two.happened) == (one.runs, one.failing, one.records, one.happened)


def test_a_scenario_within_a_function_cannot_be_handed_to_processes() -> None:
    async def scenario(world: World) -> None:
        await world.apply(APP)

    with pytest.raises(NotShareable, match="need a scenario that can be imported"):
        explore(Trial(scenario), range(2), jobs=2)


def test_a_scenario_that_is_wrong_without_faults_is_not_explored() -> None:
    async def scenario(world: World) -> None:
        world.manager(make_mended)
        await world.apply(APP)
        await world.settled()
        assert not world.state.get("configmaps/default/web-child"), "nobody asked for a child"

    report = explore(Trial(scenario), range(100))

    assert report.runs == 1
    assert report.failures[0].summary.startswith("Something is wrong without any fault:\n\n    seed=0\n")
    assert "scenario: nobody asked for a child" in report.failures[0].summary


def test_a_scenario_that_cannot_be_played_is_an_error() -> None:
    async def scenario(world: World) -> None:
        await world.apply({"apiVersion": "v1", "kind": "Nothing", "metadata": {"name": "x"}})

    with pytest.raises(ScenarioError, match=r"the scenario fails without any fault: .*Nothing"):
        explore(Trial(scenario), range(100))


def test_a_scenario_that_waits_for_a_lost_event_fails() -> None:
    async def scenario(world: World) -> None:
        world.manager(make_broken)
        await world.apply(APP)
        while world.state.get("configmaps/default/web-child") is None:
            await world.sleep(1)

    trial = Trial(scenario, options=WorldOptions(longest=300))

    assert trial.undisturbed.is_clean
    outcome = trial.play(Plan(0, (Crash("manager", 1),)))
    assert {violation.oracle for violation in outcome.violations} == {"quiet", "final-state"}
    assert any("did not settle in 300 s" in violation.text for violation in outcome.violations)


def test_a_scenario_in_which_no_time_passes_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kinformer.simulation.loop._TURNS_WITHOUT_TIME", 1000)

    async def scenario(world: World) -> None:
        while True:
            await anyio.lowlevel.checkpoint()

    (failure,) = explore(Trial(scenario), range(1)).failures

    assert {violation.oracle for violation in failure.violations} == {"quiet", "scenario"}
    assert "Livelock: no time passes" in failure.summary


def test_invariants_of_a_scenario_are_told_with_the_write_that_broke_them(broken: Trial) -> None:
    async def scenario(world: World) -> None:
        world.assert_always(lambda state: state.get("configmaps/default/web-child") is None)
        await mended_scenario(world)

    (failure,) = explore(Trial(scenario), range(1)).failures

    (violation,) = failure.violations
    assert violation.oracle == "invariants"
    assert failure.history[violation.records[0]].object == "configmaps/default/web-child"


def test_an_oracle_can_be_left_out(broken: Trial) -> None:
    assert systematic(Trial(broken_scenario, Checks(without=["final-state"]))).is_clean


def single(trial: Trial, kind: str, most: int | None = None) -> list[Deviation]:
    return single_deviations(trial.undisturbed, [kind], most)


def test_each_write_is_a_crash_point_with_the_answer_delivered_and_lost(mended: Trial) -> None:
    assert single(mended, "crash") == [
        Crash("manager", 1, "delivered"),
        Crash("manager", 1, "lost"),
        Crash("manager", 2, "delivered"),
        Crash("manager", 2, "lost"),
    ]


def test_each_event_of_each_object_is_hidden_once(mended: Trial) -> None:
    hidden = single(mended, "hide")

    assert Hide("manager", "configmaps/default/web", 1) in hidden
    assert Hide("manager", "configmaps/default/web", 2) in hidden
    assert Hide("manager", "configmaps/default/web-child", 1) in hidden
    assert len(set(hidden)) == len(hidden)


def test_each_write_is_followed_by_a_restart_onto_each_earlier_version(mended: Trial) -> None:
    restarts = single(mended, "every_restart")
    first = [deviation for deviation in restarts if isinstance(deviation, Restart) and deviation.write == 1]
    second = [deviation for deviation in restarts if isinstance(deviation, Restart) and deviation.write == 2]

    assert [deviation.version for deviation in first] == [-number for number in range(1, len(first) + 1)]
    assert len(second) == len(first) + 1


def test_only_restarts_that_tell_something_new_are_usual(mended: Trial) -> None:
    usual, every = single(mended, "restart"), single(mended, "every_restart")

    assert set(usual) < set(every)
    assert {deviation.write for deviation in usual} == {1, 2}  # type: ignore[union-attr]


@pytest.mark.parametrize("kind", KINDS)
def test_each_single_deviation_happens_when_it_is_played(mended: Trial, kind: str) -> None:
    for deviation in single(mended, kind, 3):
        outcome = mended.play(Plan(0, (deviation,)))

        assert outcome.plan.deviations == (deviation,)
        assert outcome.is_clean, outcome.violations


def test_so_many_of_a_kind_are_spread_evenly(mended: Trial) -> None:
    every = single(mended, "hide")

    assert single(mended, "hide", 2) == [every[0], every[len(every) // 2]]


def test_a_pass_that_does_not_exist_is_named(mended: Trial) -> None:
    with pytest.raises(ValueError, match="no systematic pass for 'crush': there are crash, hide, restart"):
        systematic(mended, kinds=["crush"])


def test_a_scenario_with_arguments_can_be_played() -> None:
    async def scenario(count: int, world: World) -> None:
        assert count == 3

    assert explore(Trial(partial(scenario, 3)), range(2)).is_clean
