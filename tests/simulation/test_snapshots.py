"""A manager whose caches outlive it in a file, and everything that can go wrong with them.

The oracles say of each run whether the stores became those of the server, and whether each handler saw a possible
history of each object. The ledger says whether its controller began with a cache that lacked its own last writes.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kinformer.informers import Snapshot, snapshot
from kinformer.models import V1ConfigMap
from kinformer.simulation import Faults, World
from kinformer.simulation.explore import explore
from kinformer.simulation.loop import OWNER
from kinformer.simulation.process import Life
from kinformer.simulation.trial import Trial
from tests.simulation.ledger import CHECKS, Ledger, make_ledger

#: The ledger's controller does not work with an old view of the cluster, with or without a snapshot.
FAULTS = Faults(crash=0.05, restart=0.0, split=0.0, conflict=0.0, cut=0.05, refuse=0.05, restart_server=0.02, away=0.02)


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """
    How often a file was written, and how often an informer began with one.

    Now and then, a process is killed just before or just after it puts the new file in its place.
    """
    counts: Counter[str] = Counter()
    write, state_for = snapshot.write_snapshot, snapshot.SnapshotKeeper.state_for

    def write_and_die(path: Path, blocks: Callable[..., Any]) -> None:
        life = OWNER.get()
        assert isinstance(life, Life)
        if random.random() < 0.15:
            life.process.kill(life, "before its file is there")
            return
        write(path, blocks)
        counts["written"] += 1
        if random.random() < 0.15:
            life.process.kill(life, "after its file is there")

    async def counted(*args: Any) -> Any:
        state = await state_for(*args)
        counts["used"] += state is not None
        return state

    monkeypatch.setattr(snapshot, "write_snapshot", write_and_die)
    monkeypatch.setattr(snapshot.SnapshotKeeper, "state_for", counted)
    return counts


def begin_without_file(path: Path) -> Snapshot:
    path.unlink(missing_ok=True)
    return Snapshot(path=path, interval=2)


async def scenario(world: World, path: Path) -> None:
    manager = world.manager(make_ledger, snapshot=begin_without_file(path))
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


def test_controllers_with_snapshots_do_right(tmp_path: Path, counts: Counter[str]) -> None:
    trial = Trial(partial(scenario, path=tmp_path / "caches"), CHECKS)

    report = explore(trial, range(8), faults=FAULTS)

    assert report.is_clean, report.failures[0]
    assert counts["written"] > counts["used"] > 8
