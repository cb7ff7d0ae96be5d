from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.peers import CASES, Peer, measure_peer, peers
from kinformer.bench.results import FAILED, Figures

MEASURED = "import json, sys\nprint('hello')\nprint(json.dumps({'arguments': sys.argv[2:]}))\n"


async def figures_of(tmp_path: Path, script: str) -> Figures:
    (tmp_path / "run.py").write_text(script)
    return await measure_peer(Peer("p: a client", 500, tmp_path / "run.py", tmp_path / "p.txt"), 0.1)


async def test_a_peers_figures_are_the_last_line_that_it_prints(tmp_path: Path) -> None:
    assert await figures_of(tmp_path, MEASURED) == {"arguments": ["1000", "50"]}


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("import no_such_client\n", "ModuleNotFoundError: No module named 'no_such_client'"),
        ("import sys; sys.exit(3)\n", "it ended with status 3"),
        ("print('hello')\n", "it printed no figures but 'hello\\n'"),
    ],
)
async def test_a_peer_that_cannot_run_says_why_in_its_row(tmp_path: Path, script: str, why: str) -> None:
    assert await figures_of(tmp_path, script) == {FAILED: why}


async def test_this_projects_informer_is_measured_as_the_others_are() -> None:
    figures = await measure_peer(replace(peers()["kinformer"], events=5_000), 0.1)

    assert figures.keys() == {"events/s", "events/CPU-s", "first sync s", "first sync CPU s", "KiB/object"}


def test_every_peer_has_a_script_and_pinned_requirements() -> None:
    for name, peer in peers().items():
        assert peer.script.exists(), peer
        if name == "kinformer":
            continue
        requirements = peer.requirements.read_text().split()
        assert requirements
        assert all("==" in requirement for requirement in requirements), peer


def test_each_script_of_the_folder_is_a_row() -> None:
    case = CASES["peers"]
    folder = peers()["kinformer"].script.parent

    assert {f"run_{run['peer']}.py" for run in case.runs} == {file.name for file in folder.glob("run_*.py")}
    assert len(case.labels) == len(case.runs) == len(case.quick)
