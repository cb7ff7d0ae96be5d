"""Which old daemon pods go, and where new ones come beside them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from kinformer.models import V1Pod
from kinformer_controllers.daemonset.placement import Placements
from kinformer_controllers.daemonset.plan import pods_by_node
from kinformer_controllers.daemonset.rolling_update import Update, allows_surge, plan_update, surge, unavailable
from tests.controllers.daemonset.objects import NOW, make_daemonset, make_node, make_pod, rolling, stamp

NODES = 5


def update(*pods: V1Pod, nodes: Any = None, min_ready_seconds: int = 0, **limits: Any) -> Update:
    nodes = [make_node(f"n{number}") for number in range(NODES)] if nodes is None else nodes
    daemonset = make_daemonset(strategy=rolling(**limits), minReadySeconds=min_ready_seconds)
    return plan_update(daemonset, Placements().of(daemonset, nodes), pods_by_node(pods), "new", NOW)


def on(*numbers: int, hash_: str = "old", **pod: Any) -> list[V1Pod]:
    return [make_pod(f"n{number}", hash_=hash_, **pod) for number in numbers]


def deleted(made: Update) -> list[str]:
    assert made.create == []
    return [pod.metadata.name.split("-")[1] for pod in made.delete]


@pytest.mark.parametrize(
    ("limit", "count"), [(1, 1), (3, 3), (9, 5), ("20%", 1), ("21%", 2), ("100%", 5), (0, 1)], ids=str
)
def test_as_many_old_pods_go_as_may_be_unavailable(limit: int | str, count: int) -> None:
    assert deleted(update(*on(0, 1, 2, 3, 4), maxUnavailable=limit)) == [f"n{number}" for number in range(count)]


def test_nothing_goes_when_all_pods_are_new() -> None:
    assert update(*on(0, 1, 2, 3, 4, hash_="new")) == Update()


def test_new_pods_that_are_not_available_count_against_the_limit() -> None:
    new = on(4, hash_="new", ready=False)

    assert deleted(update(*on(0, 1, 2, 3), *new, maxUnavailable=1)) == []
    assert deleted(update(*on(0, 1, 2, 3), *new, maxUnavailable=2)) == ["n0"]


def test_nodes_without_a_pod_count_against_the_limit() -> None:
    assert deleted(update(*on(0, 1, 2, 3), maxUnavailable=1)) == []
    assert deleted(update(*on(0, 1, 2, 3), *on(4, deleting=True), maxUnavailable=1)) == []


def test_all_useless_old_pods_go_first() -> None:
    useless = on(3, 4, ready=False)

    assert deleted(update(*on(0, 1, 2), *useless, maxUnavailable=1)) == ["n3", "n4"]
    assert deleted(update(*on(0, 1, 2), *useless, maxUnavailable=3)) == ["n3", "n4", "n0"]


def test_pods_that_are_healthy_stay_while_others_are_replaced() -> None:
    new = on(2, 3, hash_="new", ready=False)

    assert deleted(update(*on(0, 1), *new, *on(4, ready=False), maxUnavailable=3)) == ["n4"]
    assert deleted(update(*on(0, 1), *new, *on(4, ready=False), maxUnavailable=4)) == ["n4", "n0"]


def test_a_new_pod_is_available_after_min_ready_seconds() -> None:
    fresh = on(4, hash_="new", ready_since=stamp(NOW - timedelta(seconds=5)))

    assert deleted(update(*on(0, 1, 2, 3), *fresh, min_ready_seconds=6)) == []
    assert deleted(update(*on(0, 1, 2, 3), *fresh, min_ready_seconds=5)) == ["n0"]


def test_a_node_with_too_many_pods_is_left_to_the_node_plan() -> None:
    twice = [make_pod("n4", name="a", hash_="old"), make_pod("n4", name="b", hash_="old")]

    assert deleted(update(*on(0, 1, 2, 3), *twice, maxUnavailable=1)) == []
    assert deleted(update(*on(0, 1, 2, 3), *twice, maxUnavailable=2)) == ["n0"]


def surging(*pods: V1Pod, **more: Any) -> Update:
    return update(*pods, **({"maxUnavailable": 0, "maxSurge": 2} | more))


def test_with_surge_new_pods_come_beside_as_many_old_ones_as_allowed() -> None:
    assert surging(*on(0, 1, 2, 3, 4)) == Update(create=["n0", "n1"])
    assert surging(*on(0, 1, 2, 3, 4), maxSurge="100%").create == [f"n{number}" for number in range(5)]


def test_with_surge_a_new_pod_that_is_not_available_takes_a_place() -> None:
    assert surging(*on(0, 1, 2, 3, 4), *on(4, hash_="new", ready=False)).create == ["n0"]


def test_with_surge_an_old_pod_goes_when_the_new_one_is_available() -> None:
    made = surging(*on(0, 1, 2, 3, 4), *on(4, hash_="new"))

    assert [pod.metadata.name for pod in made.delete] == ["agent-n4-old"]
    assert made.create == ["n0", "n1"]


def test_with_surge_a_useless_pods_node_gets_a_new_one_regardless() -> None:
    assert surging(*on(0, 1), *on(2, 3, 4, ready=False)).create == ["n2", "n3", "n4", "n0", "n1"]


def test_with_surge_pods_on_the_wrong_node_go_when_dispensable() -> None:
    nodes = [make_node("n0"), make_node("n1", taints=[("k", "NoSchedule")])]

    assert surging(*on(1), nodes=nodes) == Update()
    assert surging(*on(0, ready=False, hash_="new"), *on(1), nodes=nodes) == Update()
    made = surging(*on(0, hash_="new"), *on(1), nodes=nodes)
    assert [pod.metadata.name for pod in made.delete] == ["agent-n1-old"]
    useless = surging(*on(1, ready=False), nodes=nodes)
    assert [pod.metadata.name for pod in useless.delete] == ["agent-n1-old"]


def test_with_surge_a_pod_whose_node_is_gone_holds_up_nothing() -> None:
    assert surging(*on(7), nodes=[make_node("n0")]) == Update()


def test_with_neither_surge_nor_unavailability_one_may_be_unavailable() -> None:
    assert deleted(update(*on(0, 1, 2, 3, 4), maxUnavailable=0, maxSurge=0)) == ["n0"]
    assert deleted(update(nodes=[], maxUnavailable=0, maxSurge=0)) == []


@pytest.mark.parametrize(
    "limits", [{"maxUnavailable": "ten"}, {"maxSurge": "ten%%"}, {"maxUnavailable": None}], ids=str
)
def test_a_limit_that_is_none_is_refused(limits: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"neither an integer nor a percentage|nil value"):
        update(*on(0), **limits)


def test_percentages_are_rounded_up() -> None:
    daemonset = make_daemonset(strategy=rolling(maxUnavailable="21%", maxSurge="1%"))

    assert (unavailable(daemonset, 10), surge(daemonset, 10)) == (3, 1)


def test_without_a_rolling_update_nothing_may_surge_or_be_unavailable() -> None:
    for strategy in ({"type": "OnDelete", "rollingUpdate": {"maxSurge": 1}}, {"type": "RollingUpdate"}):
        daemonset = make_daemonset(strategy=strategy)
        assert (unavailable(daemonset, 10), surge(daemonset, 10)) == (0, 0)
        assert not allows_surge(daemonset)
    assert not allows_surge(make_daemonset(strategy=rolling(maxSurge="many")))
    assert allows_surge(make_daemonset(strategy=rolling(maxSurge="1%")))
