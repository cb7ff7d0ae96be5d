"""``kinformer simulate``: what it finds, what it prints, and what it says of mistakes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from kinformer.cli.simulate import FOUND
from kinformer.models import to_dict
from kinformer.operator import definition_of
from tests.cli.commands import Done, kinformer
from tests.simulation.schema.boards import HOME, Board

BROKEN, MENDED = "tests.simulation.tiny:make_broken", "tests.simulation.tiny:make_mended"
SCENARIO = """
- apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: web, labels: {app: web}}}
- settle
"""
REPOSITORY = str(Path(__file__).parents[2])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "scenario.yaml"
    file.write_text(SCENARIO)
    return file


async def simulate(*arguments: object) -> Done:
    return await kinformer("simulate", *arguments, PYTHONPATH=REPOSITORY)


async def test_a_bug_is_shown_with_its_plan_and_the_command_to_replay(file: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"

    done = await simulate(BROKEN, "--scenario", file, "--one-by-one", "--page", page)

    assert done.status == FOUND, done.err
    assert "final-state: configmaps/default/web-child: is missing" in done.out
    plan = "seed=0 crash(manager,write=1)"
    assert f"kinformer simulate {BROKEN} --scenario {file} --replay '{plan}'" in done.out
    assert plan in page.read_text()
    again = await simulate(BROKEN, "--scenario", file, "--replay", plan)
    assert again.status == FOUND
    assert "final-state: configmaps/default/web-child: is missing" in again.out


async def test_a_replay_says_which_fault_of_the_plan_did_not_happen(file: Path) -> None:
    done = await simulate(MENDED, "--scenario", file, "--replay", "seed=0 crash(manager,write=99)")

    assert "This did not happen: crash(manager,write=99)." in done.out


async def test_a_clean_controller_ends_with_zero_and_a_table(file: Path) -> None:
    done = await simulate(MENDED, "--scenario", file, "--seeds", 8, "--fault", "hide=0.5")

    assert done.status == 0, done.err
    assert "8 runs" in done.out
    assert "Nothing was found." in done.out
    assert "Hide" in done.out
    assert not done.err


async def test_json_says_the_same_to_a_program(file: Path) -> None:
    done = await simulate(BROKEN, "--scenario", file, "--replay", "seed=5 crash(manager,write=1,lost)", "-o", "json")

    assert done.status == FOUND, done.err
    report = json.loads(done.out)
    assert (report["runs"], report["failing"], report["faults"]) == (1, 1, {"Crash": 1})
    (failure,) = report["failures"]
    assert failure["plan"] == "seed=5 crash(manager,write=1,lost)"
    assert [violation["oracle"] for violation in failure["violations"]] == ["final-state"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([MENDED, "--replay", "seed=x"], "--replay: the seed is a whole number, not 'x'"),
        ([MENDED, "--replay", "seed=1 crsh(a)"], "--replay: there is no deviation 'crsh'"),
        ([MENDED, "--fault", "crush=0.1"], "--fault: there is no fault 'crush': there are crash"),
        ([MENDED, "--fault", "crash"], "--fault 'crash': want NAME=RATE, like crash=0.05"),
        ([MENDED, "--fault", "crash=2"], "--fault: the rate of crash is from 0 to 1, not 2"),
        ([MENDED, "--without", "queit"], "there is no oracle 'queit': there are final-state"),
        ([MENDED, "--may-differ", "status"], "'status' does not name fields"),
        (["nowhere:make"], "nowhere:make: there is no module nowhere"),
        (["./my/app.py:make"], "./my/app.py:make is a path: want MODULE:FACTORY, as in my.app:make"),
        (["tests.simulation.tiny:make"], "tests.simulation.tiny:make: module 'tests.simulation.tiny' has no attribute"),
        (["tests.simulation.tiny:APP"], "tests.simulation.tiny:APP is a dict: want a function that makes a controller"),
        (
            ["no-such-controller"],
            "there is no controller 'no-such-controller': there are attachdetach, bootstrapsigner",
        ),
    ],
)
async def test_what_is_wrong_is_one_line(file: Path, arguments: list[str], said: str) -> None:
    done = await simulate(*arguments, "--scenario", file)

    assert done.status == 1
    assert done.err.startswith(f"kinformer: {said}")
    assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "scenario.yaml: No such file or directory"),
        ("[aply: x]", "scenario.yaml: step 1: there is no step 'aply'"),
        ("[apply: {apiVersion: v1, kind: Nothing, metadata: {name: x}}]", "the server does not serve Nothing of v1"),
    ],
)
async def test_what_is_wrong_in_a_scenario_is_one_line(tmp_path: Path, text: str | None, said: str) -> None:
    file = tmp_path / "scenario.yaml"
    if text is not None:
        file.write_text(text)

    done = await simulate(MENDED, "--scenario", file)

    assert done.status == 1
    assert said in done.err
    assert done.err.count("\n") == 1


async def test_a_field_that_nobody_reads_is_in_the_table(tmp_path: Path) -> None:
    file = tmp_path / "board.yaml"
    file.write_text(yaml.safe_dump_all([to_dict(definition_of(Board)), to_dict(HOME)]))
    unread = ["schema", "tests.simulation.schema.boards:make_unread", "--manifest", file]

    done = await simulate(*unread, "--field", "spec.motto", "--field", "spec.text")

    assert done.status == FOUND, done.err
    assert "spec.motto   effect   no value has an effect, alone or with another change" in done.out
    assert """make_unread --manifest""" in done.out
    (change,) = re.findall(r"--change '(.*)'", done.out)
    again = await simulate(*unread, "--change", change, "-o", "json")
    assert again.status == FOUND, again.err
    assert [(each["field"], each["rule"]) for each in json.loads(again.out)["findings"]] == [("spec.motto", "effect")]


async def test_a_manifest_that_is_not_yaml_is_one_line(tmp_path: Path) -> None:
    file = tmp_path / "board.yaml"
    file.write_text("a: b: c")

    done = await simulate("schema", MENDED, "--manifest", file)

    assert (done.status, done.err) == (1, f"kinformer: {file}:1: is not YAML: mapping values are not allowed here\n")


async def test_a_change_without_json_is_one_line(file: Path) -> None:
    done = await simulate("schema", MENDED, "--manifest", file, "--change", "spec.text=hello")

    assert done.status == 1
    assert done.err.startswith("kinformer: 'spec.text=hello': the value is not JSON")
    assert done.err.count("\n") == 1
