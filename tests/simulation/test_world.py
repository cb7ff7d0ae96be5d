"""A world: a scenario and a plan go in, a history and a state come out, the same each time."""

from __future__ import annotations

import gc
import weakref
from functools import partial

import pytest

from kinformer.manager import Controller, ControllerContext
from kinformer.models import V1ConfigMap
from kinformer.simulation import Plan, World, WorldOptions, run_world, stage
from tests.simulation.scenarios import replication_controller, up_and_down
from tests.simulation.tiny import APP, controller_of_apps


def test_a_manager_does_in_a_world_what_it_does_in_a_cluster() -> None:
    result = run_world(up_and_down, Plan(1))

    assert result.error is None
    assert not result.violations
    assert result.final_state["replicationcontrollers/default/web"]["status"]["replicas"] == 0


def test_the_same_seed_gives_the_same_history_and_another_one_another() -> None:
    first, again, other = (run_world(up_and_down, Plan(seed)).history.digest() for seed in (1, 1, 2))

    assert first == again
    assert first != other


def test_an_hour_passes_without_anything_happening_in_it() -> None:
    async def scenario(world: World) -> None:
        await world.sleep(3600)

    result = run_world(scenario)

    assert 3600 <= result.seconds < 3700
    assert result.steps < 2000


def test_a_failing_scenario_is_reported_and_the_world_still_ends() -> None:
    async def scenario(world: World) -> None:
        world.manager("replicationcontroller")
        await world.apply(replication_controller(1))
        raise AssertionError("that was not to be")

    result = run_world(scenario)

    assert str(result.error) == "that was not to be"
    assert not result.orphans


def test_a_world_does_not_live_as_long_as_its_result() -> None:
    worlds: list[weakref.ref[World]] = []

    async def scenario(world: World) -> None:
        worlds.append(weakref.ref(world))
        await up_and_down(world)

    result = run_world(scenario)
    gc.collect()

    assert worlds[0]() is None
    assert len(result.history) > 50
    assert result.reference.state.keys() == result.final_state.keys()


def test_two_processes_have_different_names() -> None:
    async def scenario(world: World) -> None:
        world.manager("replicationcontroller")
        world.manager("replicationcontroller")

    assert "there is a process 'manager' already" in str(run_world(scenario).error)


def test_what_settles_after_less_time_needs_no_longer_rest() -> None:
    result = run_world(up_and_down, options=WorldOptions(quiet=5.0))

    assert result.error is None
    assert not result.violations


def test_the_wait_for_rest_ends_early_if_too_much_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stage, "_MOST_RECORDS", 500)

    async def scenario(world: World) -> None:
        for color in ("red", "blue"):
            world.manager(partial(make_painter, color=color), color)
        await world.apply({**APP, "data": {"color": "green"}})

    result = run_world(scenario, options=WorldOptions(quiet=0.1))

    assert result.seconds < 10
    assert "there is no rest" in result.violations[0].text


def make_painter(context: ControllerContext, color: str) -> Controller:
    """Gives each app its color."""

    async def sync(app: V1ConfigMap) -> None:
        if (app.data or {}).get("color") != color:
            await context.client.resource(V1ConfigMap).patch("web", {"data": {"color": color}}, "default")

    return controller_of_apps(context, color, sync)


def test_what_is_demanded_is_looked_at_after_each_write() -> None:
    async def scenario(world: World) -> None:
        world.assert_always(lambda state: len(state.list("pods")) < 3)
        await up_and_down(world)

    (violation,) = run_world(scenario).violations

    assert violation.oracle == "invariants"


@pytest.mark.parametrize(
    "line",
    [
        "seed=1 crash(manager,write=2,lost)",
        "seed=2 crash(manager,write=2,delivered)",
        "seed=3 restart(manager,write=3,version=-4)",
        "seed=4 pause(manager,write=2,seconds=100)",
        "seed=5 cut(manager,request=3,in_line) refuse(manager,request=6,code=500)",
        "seed=6 restartserver(change=3) delay(manager,request=5,seconds=20)",
        "seed=7 silent(manager,pods,event=2,seconds=100) conflict(manager,write=4)",
        "seed=8 cut(manager,request=6,after_write) cut(manager,request=8,before)",
    ],
)
def test_faults_happen_and_the_end_is_the_same(line: str) -> None:
    plan = Plan.parse(line)

    result = run_world(up_and_down, plan)

    assert result.error is None
    assert not result.violations
    assert set(result.plan.deviations) == set(plan.deviations)
    assert sum(record.what == "fault" for record in result.history) == len(plan.deviations)
