from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from kinformer.bench.peers import Peer, peers, run_peer
from kinformer.bench.results import FAILED, Row

MEASURED = "import json, sys\nprint('hello')\nprint(json.dumps({'arguments': sys.argv[2:]}))\n"


async def row_of(tmp_path: Path, script: str) -> Row:
    (tmp_path / "run.py").write_text(script)
    peer = Peer("p", "p: a client", 500, tmp_path / "run.py", tmp_path / "p.txt")
    (row,) = [row async for row in run_peer(peer, quick=True)]
    return row


async def test_a_peers_figures_are_the_last_line_that_it_prints(tmp_path: Path) -> None:
    row = await row_of(tmp_path, MEASURED)

    assert row == Row("p: a client", {"arguments": ["1000", "50"]})


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("import no_such_client\n", "ModuleNotFoundError: No module named 'no_such_client'"),
        ("import sys; sys.exit(3)\n", "it ended with status 3"),
        ("print('hello')\n", "it printed no figures but 'hello\\n'"),
    ],
)
async def test_a_peer_that_cannot_run_says_why_in_its_row(tmp_path: Path, script: str, why: str) -> None:
    assert (await row_of(tmp_path, script)).figures == {FAILED: why}


async def test_this_projects_informer_is_measured_as_the_others_are() -> None:
    (ours,) = [peer for peer in peers() if peer.name == "kinformer"]

    (row,) = [row async for row in run_peer(replace(ours, events=5_000), quick=True)]

    assert row.figures.keys() == {"events/s", "events/CPU-s", "first sync s", "first sync CPU s", "KiB/object"}


def test_every_peer_has_a_script_and_pinned_requirements() -> None:
    for peer in peers():
        assert peer.script.exists(), peer
        if peer.name == "kinformer":
            continue
        requirements = peer.requirements.read_text().split()
        assert requirements
        assert all("==" in requirement for requirement in requirements), peer


def test_the_peers_are_those_of_their_folder() -> None:
    folder = peers()[0].script.parent

    assert {f"run_{name}.py" for name in tomllib.loads((folder / "peers.toml").read_text())} == {
        file.name for file in folder.glob("run_*.py")
    }
