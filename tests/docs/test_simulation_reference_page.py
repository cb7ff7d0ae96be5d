"""docs/simulation-reference.md says what there is."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from kinformer.cli.command import main
from kinformer.simulation import Checks, Faults, Plan, run_world
from kinformer.simulation.faults import RATES
from kinformer.simulation.oracles import ORACLES
from kinformer.simulation.plan import DEVIATIONS
from kinformer.simulation.scenario_file import read_scenario
from kinformer.simulation.single import KINDS

PAGE = (Path(__file__).parents[2] / "docs" / "simulation-reference.md").read_text()


def section(title: str) -> str:
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def first_cells(text: str) -> list[str]:
    """What stands as code in the first column of a table."""
    return re.findall(r"^\| `([^`]+)` \|", text, flags=re.MULTILINE)


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)


def test_every_deviation_is_there_and_can_be_read() -> None:
    plans = [Plan.parse(f"seed=1 {text}") for text in first_cells(section("Plans"))]

    assert {type(plan.deviations[0]) for plan in plans} == set(DEVIATIONS.values())


def test_the_plan_that_is_shown_can_be_read() -> None:
    (line,) = blocks("text")

    assert len(Plan.parse(line).deviations) == 2


def test_every_rate_is_there_with_its_default() -> None:
    shown = dict(re.findall(r"^\| `(\w+)` \| ([\d.]+) \|", section("Faults by rate"), flags=re.MULTILINE))

    assert shown == {name: str(getattr(Faults(), name)) for name in RATES}


def test_every_oracle_is_there() -> None:
    assert tuple(first_cells(section("Oracles"))) == ORACLES


def test_every_kind_of_systematic_pass_is_named() -> None:
    for kind in KINDS:
        assert f"`{kind}`" in section("Exploration")


def test_the_options_that_are_shown_can_be_made() -> None:
    found = {}
    for code in blocks("python"):
        if "Faults" in code or "Checks" in code:
            exec(code, found)

    assert found["Faults"] is Faults
    assert found["Checks"] is Checks


@pytest.mark.parametrize("command", [line for block in blocks("shell") for line in block.splitlines()])
def test_every_command_is_one_that_can_be_typed(command: str) -> None:
    done = CliRunner().invoke(main, [*shlex.split(command)[1:], "--help"])

    assert done.exit_code == 0, done.output
    for flag in re.findall(r" (--?[a-z-]+)", command):
        assert flag in done.output


def test_the_scenario_can_be_played(tmp_path: Path) -> None:
    file = tmp_path / "scenario.yaml"
    (text,) = blocks("yaml")
    file.write_text(text)

    result = run_world(read_scenario(file, ["podgc"]))

    assert result.error is None
    assert not result.violations
