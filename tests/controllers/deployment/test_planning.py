"""Limits, scaling and rolling: how large each ReplicaSet is to be."""

from __future__ import annotations

from typing import Any

import pytest

from kinformer_controllers.deployment.annotations import MAX_REPLICAS
from kinformer_controllers.deployment.limits import (
    Limits,
    StrategyError,
    limits_of,
    max_surge,
    max_unavailable,
    min_available,
    new_replicas,
)
from kinformer_controllers.deployment.sizes import is_being_scaled, plan_new, plan_old, plan_scaling, proportion
from tests.controllers.deployment.making import make_deployment, make_replica_set


@pytest.mark.parametrize(
    ("surge", "unavailable", "replicas", "limits"),
    [
        ("0%", "0%", 0, (0, 1)),
        ("39%", "39%", 10, (4, 3)),
        (None, "39%", 10, (0, 3)),
        ("39%", None, 10, (4, 0)),
        (None, None, 10, (0, 1)),
        (2, 1, 10, (2, 1)),
    ],
)
def test_percentages_are_rounded_so_that_a_roll_out_can_go_on(
    surge: Any, unavailable: Any, replicas: int, limits: Limits
) -> None:
    assert limits_of(make_deployment(replicas, surge=surge, unavailable=unavailable)) == limits


@pytest.mark.parametrize(("surge", "unavailable"), [("oops", "39%"), ("55%", "urg")])
def test_a_limit_that_is_neither_a_number_nor_a_percentage_is_named(surge: str, unavailable: str) -> None:
    deployment = make_deployment(surge=surge, unavailable=unavailable)

    with pytest.raises(StrategyError, match=r"(maxSurge is 'oops'|maxUnavailable is 'urg'): "):
        limits_of(deployment)
    assert (max_surge(deployment), max_unavailable(deployment)) == (0, 0)


@pytest.mark.parametrize(
    ("replicas", "unavailable", "expected"),
    [(10, 5, 5), (10, 10, 10), (5, 10, 5), (0, 10, 0), (10, "50%", 5), (10, "100%", 10), (5, "100%", 5), (1, 1, 1)],
)
def test_no_more_can_be_unavailable_than_are_asked_for(replicas: int, unavailable: Any, expected: int) -> None:
    deployment = make_deployment(replicas, surge=1, unavailable=unavailable)

    assert max_unavailable(deployment) == expected
    assert min_available(deployment) == replicas - expected


def test_recreate_has_neither_surge_nor_anything_that_must_be_available() -> None:
    deployment = make_deployment(strategy="Recreate")

    assert (max_surge(deployment), max_unavailable(deployment), min_available(deployment)) == (0, 0, 0)


@pytest.mark.parametrize(
    ("strategy", "replicas", "surge", "new", "expected"),
    [
        ("RollingUpdate", 1, 20, 1, 1),  # it has all that are asked for
        ("RollingUpdate", 6, 2, 4, 6),
        ("RollingUpdate", 5, 1, 0, 0),  # there is no room
        ("Recreate", 3, 0, 1, 3),
    ],
)
def test_the_new_one_may_have_what_surge_leaves_room_for(
    strategy: str, replicas: int, surge: int, new: int, expected: int
) -> None:
    deployment = make_deployment(replicas, surge=surge, strategy=strategy)
    own, old = make_replica_set("new", new), make_replica_set("old", 10 if expected == 0 else 2)

    assert new_replicas(deployment, [own, old], own) == expected


def test_a_strategy_that_nobody_knows_is_named() -> None:
    own = make_replica_set("new", 0)

    with pytest.raises(StrategyError, match="'Blue' isn't supported"):
        new_replicas(make_deployment(strategy="Blue"), [own], own)


@pytest.mark.parametrize(
    ("replicas", "surge", "old", "new", "expected"),
    [(10, 0, 10, 0, 0), (10, 2, 10, 0, 2), (10, 2, 5, 0, 7), (10, 2, 10, 2, 2), (10, 2, 2, 11, 10)],
)
def test_the_new_one_grows_as_far_as_surge_allows(replicas: int, surge: int, old: int, new: int, expected: int) -> None:
    deployment = make_deployment(replicas, surge=surge)

    assert plan_new(deployment, make_replica_set("new", new), [make_replica_set("old", old)]) == expected


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


@pytest.mark.parametrize(
    ("before", "after", "surge_before", "surge", "new", "old", "new_after", "old_after"),
    [(10, 20, 2, 2, 6, 6, 11, 11), (10, 50, 3, 6, 5, 8, 22, 34)],
)
def test_surge_is_shared_too(
    before: int, after: int, surge_before: int, surge: int, new: int, old: int, new_after: int, old_after: int
) -> None:
    newest = make_replica_set("new", new, of=before, surge=surge_before)
    oldest = make_replica_set("old", old, of=before, surge=surge_before, age=1)

    sizes = plan_scaling(make_deployment(after, surge=surge), newest, [oldest])

    assert {size.replica_set.metadata.name: size.replicas for size in sizes} == {"new": new_after, "old": old_after}


def test_old_ones_go_when_the_new_one_has_all_pods_ready() -> None:
    deployment, old = make_deployment(2, surge=1, unavailable=1), make_replica_set("old", 1, of=2, surge=1, age=1)
    broken = make_replica_set("new", 2, of=2, surge=1, available=1)
    working = make_replica_set("new", 2, of=2, surge=1, available=2)

    assert [size.replicas for size in plan_scaling(deployment, working, [old])] == [0]
    assert sorted(size.replicas for size in plan_scaling(deployment, broken, [old])) == [1, 2]


@pytest.mark.parametrize(
    ("replicas", "status", "surge", "have", "before", "expected"),
    [
        (0, 0, 0, 10, None, -10),
        (10, 0, 0, 5, None, 0),
        (10, 0, 0, 5, "0", 0),
        (120, 100, 0, 50, None, 10),
        (120, 100, 0, 50, "0", 10),
        (120, 0, 0, 50, "100", 10),
        (120, 0, 10, 50, "110", 9),
        (10, 0, 0, 6, "12", -1),
    ],
)
def test_a_share_refers_to_the_size_at_the_last_scaling(
    replicas: int, status: int, surge: int, have: int, before: str | None, expected: int
) -> None:
    deployment = make_deployment(replicas, surge=surge, status={"replicas": status})
    annotations = {MAX_REPLICAS: before} if before is not None else {}
    replica_set = make_replica_set("a", have, annotations=annotations)

    assert proportion(deployment, replica_set, 1000 if expected > 0 else -1000, 0) == expected


def test_a_deployment_scales_while_an_active_replica_set_has_another_size() -> None:
    assert is_being_scaled(make_deployment(10), [make_replica_set("a", 5, of=5)])
    assert not is_being_scaled(make_deployment(10), [make_replica_set("a", 5, of=10)])
    assert not is_being_scaled(make_deployment(10), [make_replica_set("a", 0, of=5)])
    assert not is_being_scaled(make_deployment(10), [make_replica_set("a", 5)])
