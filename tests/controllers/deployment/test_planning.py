"""Scaling and rolling: how large each ReplicaSet is to be; the golden cases ``deployment`` have what goes before."""

from __future__ import annotations

import pytest

from kinformer_controllers.deployment.limits import (
    StrategyError,
    limits_of,
    max_surge,
    max_unavailable,
    new_replicas,
)
from kinformer_controllers.deployment.sizes import plan_old, plan_scaling
from tests.controllers.deployment.making import make_deployment, make_replica_set


@pytest.mark.parametrize(("surge", "unavailable"), [("oops", "39%"), ("55%", "urg")])
def test_a_limit_that_is_neither_a_number_nor_a_percentage_is_named(surge: str, unavailable: str) -> None:
    deployment = make_deployment(surge=surge, unavailable=unavailable)

    with pytest.raises(StrategyError, match=r"(maxSurge is 'oops'|maxUnavailable is 'urg'): "):
        limits_of(deployment)
    assert (max_surge(deployment), max_unavailable(deployment)) == (0, 0)


def test_a_strategy_that_nobody_knows_is_named() -> None:
    own = make_replica_set("new", 0)

    with pytest.raises(StrategyError, match="'Blue' isn't supported"):
        new_replicas(make_deployment(strategy="Blue"), [own], own)


@pytest.mark.parametrize(
    ("unavailable", "old", "new", "old_available", "new_available", "sizes"),
    [
        (0, 10, 0, 10, 0, [9]),  # neither surge nor unavailable: one may be
        (2, 10, 0, 10, 0, [8]),
        (2, 10, 0, 8, 0, [8]),  # the unhealthy ones go
        (2, 10, 0, 9, 0, [9, 8]),  # the unhealthy one goes, then one that works
        (2, 8, 2, 8, 0, []),  # new ones that do not come up cost no old one
        (2, 8, 2, 7, 0, []),  # not even one that is unhealthy
        (2, 10, 0, 1, 0, [8]),  # no more unhealthy ones than may go
        (2, 0, 10, 0, 10, []),
        (2, 3, 7, 5, 7, []),  # two of the five are being deleted: without the rest there would be only seven
    ],
)
def test_old_ones_shrink_by_unhealthy_and_then_by_surplus_pods(
    unavailable: int, old: int, new: int, old_available: int, new_available: int, sizes: list[int]
) -> None:
    steps = plan_old(
        make_deployment(10, unavailable=unavailable),
        make_replica_set("new", new, available=new_available),
        [make_replica_set("old", old, available=old_available)],
    )

    assert [step.replicas for step in steps] == sizes


@pytest.mark.parametrize(
    ("before", "after", "new", "old", "new_after", "old_after"),
    [
        (10, 12, 10, [], 12, []),
        (10, 5, 10, [], 5, []),
        (5, 10, 2, [3], 4, [6]),
        (5, 3, 2, [3], 1, [2]),
        (9, 4, 8, [1], 4, [0]),
        (7, 10, 2, [3, 2], 3, [4, 3]),
        (13, 8, 2, [8, 3], 1, [5, 2]),
        (3, 4, 1, [1, 1], 2, [1, 1]),  # what is left over goes to the newest
        (3, 2, 1, [1, 1], 1, [1, 0]),  # and is taken from the oldest
        (4, 5, None, [2, 2], None, [3, 2]),
        (6, 0, 3, [2, 1], 0, [0, 0]),
        (6, 6, 0, [0, 0], 6, [0, 0]),
        (10, 14, None, [7, 3], None, [10, 4]),
        (10, 13, 2, [5, 3], 2, [7, 4]),  # the largest first: for the smallest nothing is left
    ],
)
def test_scaling_is_shared_in_proportion(
    before: int, after: int, new: int | None, old: list[int], new_after: int | None, old_after: list[int]
) -> None:
    newest = make_replica_set("new", new, of=before) if new is not None else None
    others = [make_replica_set(f"old-{age}", size, of=before, age=age + 1) for age, size in enumerate(old)]
    sizes = {each.metadata.name: each.spec.replicas for each in [*others, *([newest] if newest else [])]}

    for size in plan_scaling(make_deployment(after), newest, others):
        sizes[size.replica_set.metadata.name] = size.replicas

    assert sizes.get("new") == new_after
    assert [sizes[each.metadata.name] for each in others] == old_after


def test_a_replica_set_left_out_by_a_failed_write_catches_up() -> None:
    written = [make_replica_set("new", 2, of=5), make_replica_set("oldest", 1, of=5, age=2)]
    missed = make_replica_set("old", 1, of=3, age=1)

    sizes = plan_scaling(make_deployment(5), written[0], [missed, written[1]])

    assert {size.replica_set.metadata.name: size.replicas for size in sizes} == {"new": 2, "old": 2, "oldest": 1}


def test_old_ones_go_when_the_new_one_has_all_pods_ready() -> None:
    deployment, old = make_deployment(2, surge=1, unavailable=1), make_replica_set("old", 1, of=2, surge=1, age=1)
    broken = make_replica_set("new", 2, of=2, surge=1, available=1)
    working = make_replica_set("new", 2, of=2, surge=1, available=2)

    assert [size.replicas for size in plan_scaling(deployment, working, [old])] == [0]
    assert sorted(size.replicas for size in plan_scaling(deployment, broken, [old])) == [1, 2]
