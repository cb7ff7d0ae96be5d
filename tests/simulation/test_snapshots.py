"""A manager whose caches outlive it in a file, and everything that can go wrong with them.

The oracles say of each run whether the stores became those of the server, and whether each handler saw a history that
an object can have. The ledger says whether its controller began with a cache that lacked its own last writes.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kinformer.informers import Snapshot, snapshot
from kinformer.models import V1ConfigMap
from kinformer.simulation import Faults, World, simulate
from kinformer.simulation.loop import OWNER
from kinformer.simulation.process import Life
from tests.simulation.ledger import CHECKS, Ledger, make_ledger

#: The ledger's controller does not bear an old view of the cluster, with or without a snapshot.
FAULTS = Faults(crash=0.05, restart=0.0, split=0.0, conflict=0.0, cut=0.05, refuse=0.05, restart_server=0.02, away=0.02)

#: How often a file was written, and how often an informer began with one.
COUNTS = {"written": 0, "used": 0}


@pytest.fixture
def killing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Now and then, a process is killed just before or just after it puts the new file in its place."""
    write, state_for = snapshot.write_snapshot, snapshot.SnapshotKeeper.state_for

    def write_and_die(path: Path, blocks: Callable[..., Any]) -> None:
        life = OWNER.get()
        assert isinstance(life, Life)
        if random.random() < 0.15:
            life.process.kill(life, "before its file is there")
            return
        write(path, blocks)
        COUNTS["written"] += 1
        if random.random() < 0.15:
            life.process.kill(life, "after its file is there")

    async def counted(*args: Any) -> Any:
        state = await state_for(*args)
        COUNTS["used"] += state is not None
        return state

    monkeypatch.setattr(snapshot, "write_snapshot", write_and_die)
    monkeypatch.setattr(snapshot.SnapshotKeeper, "state_for", counted)


@simulate(seeds=8, faults=FAULTS, checks=CHECKS)
async def test_controllers_with_snapshots_do_right(world: World, tmp_path: Path, killing: None) -> None:
    path = tmp_path / "caches"
    path.unlink(missing_ok=True)
    manager = world.manager(make_ledger, snapshot=Snapshot(path=path, interval=2))
    await Ledger(world).open(10)
    for number in range(3):
        await world.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"goes-{number}"}})
        await world.sleep(random.uniform(1, 5))
        random.choice((manager.kill, manager.terminate))()
        await world.sleep(0.1)
        await world.delete(V1ConfigMap, f"goes-{number}")
        if random.random() < 0.3:
            world.server.faults.compact()
    await world.settled()


def test_the_runs_before_had_files_that_were_used() -> None:
    assert COUNTS["written"] > COUNTS["used"] > 8
