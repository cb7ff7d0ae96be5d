"""Nothing is deleted whose owner lives, and nothing stays that has none: random graphs, races and broken watches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kinformer.client import DeleteOptions
from kinformer.deletion.graph import Identity
from kinformer.deletion.heads import Reference
from kinformer.deletion.verdict import Standing
from kinformer_controllers.garbagecollector.controller import GarbageCollector
from tests.controllers.garbagecollector.lives import live

#: ``python -m tests.controllers.garbagecollector`` lives 2,000.
FEW = 8
#: In which at least one has to go wrong where a guard is taken away.
SEEDS = 40


@pytest.mark.parametrize("seed", range(FEW))
async def test_nothing_is_deleted_whose_owner_lives_and_nothing_stays_that_has_none(seed: int) -> None:
    life = await live(seed)

    assert not life.problems, "\n".join(life.problems)


def without_the_live_check(collector: GarbageCollector) -> None:
    """Believe the graph instead of asking the server for an owner."""
    graph = collector.graph

    async def standing(item: Identity, reference: Reference) -> Standing:
        node = graph.nodes.get(reference.uid)
        if node is None or node.is_virtual or node.namespace not in ("", item.namespace):
            return Standing.DANGLING
        return Standing.WAITING if node.is_waiting else Standing.SOLID

    collector.collector._standing = standing  # type: ignore[method-assign]


def without_the_version(collector: GarbageCollector) -> None:
    """Delete an object whatever has become of it since its owners were looked at."""
    objects = collector.collector.objects

    async def delete(identity: Identity, propagation: Any, version: str = "") -> None:
        resource, namespace = await objects._resource(identity)
        await resource.delete(identity.name, namespace, DeleteOptions(propagation_policy=propagation))

    objects.delete = delete  # type: ignore[method-assign]


@pytest.mark.parametrize("sabotage", [without_the_live_check, without_the_version])
async def test_without_what_guards_a_deletion_these_lives_would_go_wrong(
    sabotage: Callable[[GarbageCollector], None],
) -> None:
    for seed in range(SEEDS):
        life = await live(seed, sabotage)
        if any("was deleted, whose owners" in problem for problem in life.problems):
            return
    pytest.fail(f"{sabotage.__name__}: nothing was deleted that should stay")
