"""``@simulate``: as a user's tests have it, in a project of its own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kinformer.simulation import Faults, PlanError, World, simulate
from tests.forked import run
from tests.simulation.tiny import APP, make_mended

REPOSITORY = Path(__file__).parents[2]


@simulate(seeds=5, plans=["seed=3 crash(manager,write=1,lost)"], one_by_one=["crash"])
async def test_the_mended_twin_passes(world: World) -> None:
    world.manager(make_mended)
    await world.apply(APP)
    await world.settled()


@pytest.mark.parametrize("name", ["a", "b"])
@simulate(seeds=2, faults=Faults.only())
async def test_parameters_and_fixtures_are_had_beside_the_world(world: World, tmp_path: Path, name: str) -> None:
    await world.apply(APP | {"metadata": {"name": name, "annotations": {"folder": str(tmp_path)}}})
    assert world.state.get(f"configmaps/default/{name}") is not None


def test_a_plan_that_cannot_be_read_is_an_error_of_the_decorator() -> None:
    with pytest.raises(PlanError, match="no deviation 'crsh'"):
        simulate(plans=["seed=1 crsh(manager,write=1)"])


def test_a_kept_plan_whose_fault_does_not_happen_is_warned_of(request: pytest.FixtureRequest) -> None:
    @simulate(seeds=0, plans=["seed=0 crash(manager,write=1) crash(manager,write=99)"])
    async def scenario(world: World) -> None:
        world.manager(make_mended)
        await world.apply(APP)

    with pytest.warns(UserWarning, match=r"says: crash\(manager,write=99\) did not happen"):
        scenario(request=request)


TESTS = """
from kinformer.simulation import simulate
from tests.simulation.tiny import broken_scenario

@simulate(seeds=0, one_by_one=["crash"])
async def test_tiny(world):
    await broken_scenario(world)
"""
PLAN = "seed=0 crash(manager,write=1)"


def run_tests(folder: Path, *options: str, **environment: str) -> str:
    (folder / "test_it.py").write_text(TESTS)
    (folder / "pytest.ini").write_text("[pytest]\n")
    command = ["-q", "-p", "no:cacheprovider", "--color=no", "test_it.py", *options]
    found = run("pytest", *command, folder=folder, PYTHONPATH=str(REPOSITORY), **environment)
    return found.out + found.err


def test_a_failing_test_shows_plan_timeline_and_how_to_replay(tmp_path: Path) -> None:
    text = run_tests(tmp_path, "--simulate-pages", "pages")

    assert "1 failed" in text
    assert f"    {PLAN}\n" in text
    assert "final-state: configmaps/default/web-child: is missing" in text
    assert "is killed" in text
    assert f"    pytest test_it.py::test_tiny --simulate-plan '{PLAN}'" in text
    assert "Traceback" not in text
    assert "testing.py" not in text
    (page,) = (tmp_path / "pages").glob("*.html")
    assert str(page.relative_to(tmp_path)) in text
    assert PLAN in page.read_text()


@pytest.mark.parametrize("how", ["option", "environment"])
def test_a_plan_is_played_again_and_nothing_else(tmp_path: Path, how: str) -> None:
    harmless = "seed=0 pause(manager,write=1)"
    text = run_tests(tmp_path, "--simulate-plan", harmless) if how == "option" else ""
    text = text or run_tests(tmp_path, KINFORMER_SIMULATE_PLAN=harmless)

    assert re.search(r"\b1 passed", text), text


def test_a_number_that_is_none_is_named(tmp_path: Path) -> None:
    assert "--simulate-seeds is a whole number from 0, not 'many'" in run_tests(tmp_path, "--simulate-seeds", "many")
