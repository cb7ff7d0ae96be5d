"""One budget is synced: what its status becomes."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from structlog.testing import capture_logs

from kinformer.client.errors import Conflict, ServerUnreachable
from kinformer.models import V1Pod
from tests.controllers.disruption.world import NOW, World, webapps
from tests.controllers.objects import conflict, not_found


@pytest.fixture
def world() -> World:
    return World()


def stamp(**ago: float) -> str:
    return (NOW - timedelta(**ago)).isoformat().replace("+00:00", "Z")


async def test_an_empty_selector_selects_every_pod_of_the_namespace(world: World) -> None:
    world.budget(selector={}, minAvailable=3)
    await world.sync()
    assert world.counts == (0, 0, 3, 0)

    world.pod("p", labels={"any": "thing"})
    await world.sync()
    assert world.counts == (0, 1, 3, 1)


async def test_a_missing_selector_selects_no_pod(world: World) -> None:
    world.budget(selector=None, minAvailable=0)
    world.pod("p")

    await world.sync()

    assert world.counts == (0, 0, 0, 0)
    assert world.recorder.events == ["Normal NoPods b: No matching pods found"]


async def test_counts_rise_with_each_pod_and_fall_when_one_is_unready(world: World) -> None:
    world.budget(minAvailable=3)
    for number in range(4):
        await world.sync()
        assert world.counts == (0, number, 3, number)
        world.pod(f"p{number}")
    await world.sync()
    assert world.counts == (1, 4, 3, 4)

    world.pod("p0", ready=False)
    await world.sync()
    assert world.counts == (0, 3, 3, 4)


@pytest.mark.parametrize(
    ("limit", "first", "later"), [(2, (0, 1, 5, 7), (0, 1, 3, 5)), ("30%", (0, 1, 4, 7), (0, 1, 3, 5))]
)
async def test_what_may_be_unavailable_follows_the_scale_of_the_controller(
    world: World, limit: int | str, first: Any, later: Any
) -> None:
    world.budget(maxUnavailable=limit)
    world.pod("p", world.owner("ReplicaSet", "rs", 7))
    await world.sync()
    assert world.counts == first

    world.owner("ReplicaSet", "rs", 5)
    await world.sync()
    assert world.counts == later


@pytest.mark.parametrize("spec", [{"maxUnavailable": 1}, {"minAvailable": "28%"}])
async def test_an_uncontrolled_pod_allows_no_share_and_is_reported(world: World, spec: dict[str, Any]) -> None:
    world.budget(**spec)
    await world.sync()
    assert world.status.disruptions_allowed == 0
    world.pod("naked")

    await world.sync()

    assert world.status.disruptions_allowed == 0
    assert world.status.conditions is not None
    assert [condition.reason for condition in world.status.conditions] == ["InsufficientPods"]
    told = world.recorder.events[-1]
    assert told.startswith(
        "Warning UnmanagedPods b: Pods selected by this PodDisruptionBudget (selector: &LabelSelector{MatchLabels:"
        "map[string]string{app: web,},MatchExpressions:[]LabelSelectorRequirement{},}) were found to be unmanaged."
    )


async def test_an_unknown_controller_kind_allows_no_disruption_with_the_reason(world: World) -> None:
    world.budget(minAvailable="28%")
    owner = {"apiVersion": "apps.test.io/v1", "kind": "TestWorkload", "name": "fake", "uid": "u", "controller": True}
    world.pod("p", owner)

    await world.sync()

    assert world.status.disruptions_allowed == 0
    (condition,) = world.status.conditions or ()
    assert (condition.status, condition.reason) == ("False", "SyncFailed")
    assert condition.message == 'no matches for kind "TestWorkload" in version "apps.test.io/v1"'
    assert "Warning CalculateExpectedPodCountFailed b" in world.recorder.events[-1]


async def test_a_percentage_refers_to_the_wanted_replicas(world: World) -> None:
    world.budget(minAvailable="20%")
    world.pod("p", world.owner("ReplicaSet", "rs", 10))

    await world.sync()

    assert world.counts == (0, 1, 2, 10)


async def test_each_of_several_controllers_counts_once(world: World) -> None:
    world.budget(minAvailable="28%")
    first, second = world.owner("ReplicationController", "one", 11), world.owner("ReplicationController", "two", 11)
    for number in range(7):
        world.pod(f"a{number}", first)
        world.pod(f"b{number}", second, ready=number < 2)

    await world.sync()

    # 28 % of 22, rounded up, is 7; 7 and 2 pods are ready.
    assert world.counts == (2, 9, 7, 22)


async def test_a_percentage_is_rounded_up(world: World) -> None:
    world.budget(minAvailable="67%")
    owner = world.owner("ReplicationController", "rc", 3)
    for number in range(3):
        world.pod(f"p{number}", owner)

    await world.sync()

    assert world.counts == (0, 3, 3, 3)


async def test_more_unavailable_than_there_are_means_that_none_must_be_healthy(world: World) -> None:
    world.budget(maxUnavailable=5)
    world.pod("p", world.owner("ReplicaSet", "rs", 1))

    await world.sync()

    assert world.counts == (1, 1, 0, 1)


async def test_a_budget_that_is_gone_is_nothing_to_do(world: World) -> None:
    assert await world.disruption.sync("ns/notExist") is None
    assert world.writes == 0


async def test_a_noted_eviction_counts_until_deletion_or_two_minutes(world: World) -> None:
    noted = {
        "p1": stamp(),  # is being deleted
        "p2": stamp(minutes=3),  # was not deleted in time
        "p3": stamp(minutes=1),  # is still expected to be
        "gone": stamp(),
    }
    world.budget(minAvailable=1, status={"disruptionsAllowed": 0, "disruptedPods": noted})
    world.pod("p1", deletionTimestamp=stamp())
    world.pod("p2")
    world.pod("p3")

    recheck = await world.sync()

    assert world.counts == (0, 1, 1, 3)
    assert world.status.disrupted_pods == {"p3": NOW - timedelta(minutes=1)}
    assert recheck == 60.0
    assert world.recorder.events == ["Warning NotDeleted p2: Pod was expected by PDB ns/ns to be deleted but it wasn't"]


async def test_a_status_that_is_right_is_not_written_again(world: World) -> None:
    world.budget(minAvailable=1)
    world.pod("p1")
    await world.sync()
    assert world.writes == 1

    await world.sync()

    assert world.writes == 1


async def test_a_conflict_is_tried_again_rather_than_written_over(world: World) -> None:
    world.budget(minAvailable=1)
    world.pod("p1")
    world.write_errors.append(conflict())

    with pytest.raises(Conflict):
        await world.sync()

    assert world.writes == 1


@pytest.mark.parametrize(
    "selector",
    [
        {"matchLabels": {"k8s.io/too/many/slashes": "value"}},
        {"matchExpressions": [{"key": "foo", "operator": "illegal", "values": ["bar"]}]},
    ],
    ids=["illegal key", "illegal operator"],
)
async def test_a_selector_that_is_not_valid_allows_nothing(world: World, selector: dict[str, Any]) -> None:
    world.budget(selector=selector, minAvailable=3)
    world.pod("p")

    await world.sync()

    assert world.counts == (0, 0, 0, 0)
    assert [condition.reason for condition in world.status.conditions or ()] == ["SyncFailed"]
    assert world.recorder.events[0].startswith("Warning NoPods b: Failed to get pods:")


@pytest.mark.parametrize("limit", ["ten", "%", "10 %"])
async def test_a_number_that_is_none_allows_nothing(world: World, limit: str) -> None:
    world.budget(maxUnavailable=limit)
    world.pod("p", world.owner("ReplicaSet", "rs", 1))

    await world.sync()

    assert world.status.disruptions_allowed == 0
    assert [condition.reason for condition in world.status.conditions or ()] == ["SyncFailed"]


async def test_a_budgets_error_is_written_and_logged_once_until_it_changes(
    world: World,
) -> None:
    world.budget(maxUnavailable="ten")
    world.pod("p", world.owner("ReplicaSet", "rs", 1))

    with capture_logs() as logs:
        for _ in range(3):
            await world.sync()

    assert world.writes == 1
    assert [entry["event"] for entry in logs] == ["budget_not_computed"]

    world.pod("q", {"apiVersion": "a/b/c", "kind": "Old", "name": "old", "uid": "u", "controller": True})
    world.cache(V1Pod).delete(world.cache(V1Pod).get_by_key("ns/p"))
    await world.sync()

    assert world.writes == 2
    (condition,) = world.status.conditions or ()
    assert condition.message.startswith("the owner reference to Old old: ")


async def test_an_unknown_scale_allows_nothing_and_is_tried_again(world: World) -> None:
    world.budget(minAvailable="50%")
    owner = {"apiVersion": "example.com/v1", "kind": "WebApp", "name": "app", "uid": "u", "controller": True}
    world.pod("p", owner)
    world.discovery_errors.append(ServerUnreachable("http://server", "connection refused"))

    with pytest.raises(ServerUnreachable):
        await world.sync()
    assert [condition.reason for condition in world.status.conditions or ()] == ["SyncFailed"]

    world.served.append(webapps())
    world.scales["app"] = {"metadata": {"name": "app", "uid": "u"}, "spec": {"replicas": 2}}
    await world.sync()
    assert [condition.reason for condition in world.status.conditions or ()] == ["InsufficientPods"]


async def test_others_conditions_stay_and_ones_own_keeps_its_time(world: World) -> None:
    since = stamp(hours=1)
    mine = {
        "type": "DisruptionAllowed",
        "status": "False",
        "reason": "SyncFailed",
        "message": "what was wrong",
        "lastTransitionTime": since,
    }
    other = {"type": "Other", "status": "True", "reason": "Test", "message": "a test", "lastTransitionTime": since}
    world.budget(minAvailable=3, status={"disruptionsAllowed": 0, "conditions": [mine, other]})

    await world.sync()

    own, kept = world.status.conditions or ()
    assert (own.reason, own.message, own.last_transition_time) == ("InsufficientPods", "", NOW - timedelta(hours=1))
    assert kept.type == "Other"


async def test_a_condition_that_changes_its_status_has_a_new_time(world: World) -> None:
    world.budget(minAvailable=1)
    await world.sync()
    world.pod("p1")
    world.pod("p2")
    world.clock.turn(60)

    await world.sync()

    (condition,) = world.status.conditions or ()
    assert (condition.status, condition.reason) == ("True", "SufficientPods")
    assert condition.last_transition_time == NOW + timedelta(minutes=1)


async def test_a_budget_that_was_deleted_meanwhile_is_no_error(world: World) -> None:
    world.budget(minAvailable=1)
    world.pod("p")
    world.write_errors.append(not_found())

    with capture_logs() as logs:
        assert await world.sync() is None

    assert world.writes == 1
    assert [told["event"] for told in logs] == ["budget_gone"]
