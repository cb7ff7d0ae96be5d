"""The graph of owners: what it knows after each event, and what it wants looked at."""

from __future__ import annotations

import random

import pytest

from kinformer.deletion.graph import Phase
from tests.deletion.graph_world import Obj, World, ref

OWNER = Obj("ReplicaSet", "ns", "web", "owner", "apps/v1")
POD = Obj("Pod", "ns", "web-1", "pod")
NODE = Obj("Node", "", "n1", "node")


@pytest.fixture
def world() -> World:
    return World()


def test_an_object_and_its_owner_are_linked_whichever_is_seen_first(world: World) -> None:
    assert world.see(OWNER) == []
    assert world.see(POD, ref(OWNER)) == []
    assert world.dependents(OWNER) == {"pod"}

    other = World()
    other.see(POD, ref(OWNER))
    other.see(OWNER)
    assert other.dependents(OWNER) == {"pod"}


def test_an_owner_that_no_event_has_shown_is_virtual_and_looked_at(world: World) -> None:
    assert world.see(POD, ref(OWNER)) == ["look owner"]
    assert world.graph.nodes["owner"].is_virtual
    assert world.graph.nodes["owner"].identity == OWNER.identity

    assert world.see(OWNER) == []
    assert not world.graph.nodes["owner"].is_virtual


def test_when_an_owner_goes_its_dependents_are_checked_and_it_is_absent(world: World) -> None:
    world.see(OWNER)
    world.see(POD, ref(OWNER))

    assert world.gone(OWNER) == ["look pod"]
    assert world.graph.absents.get(OWNER.identity)
    assert "owner" not in world.graph.nodes


def test_dependents_are_checked_in_the_order_in_which_they_came(world: World) -> None:
    names = [f"pod-{number * 7 % 20}" for number in range(20)]
    world.see(OWNER)
    for name in names:
        world.see(Obj("Pod", "ns", name), ref(OWNER))

    world.graph.gone(OWNER.kind, OWNER.namespace, OWNER.name, OWNER.uid)

    assert world.agenda.told == [f"look {name}" for name in names]


def test_the_absence_of_what_nobody_depends_on_is_not_remembered(world: World) -> None:
    world.see(OWNER)

    assert world.gone(OWNER) == []
    assert len(world.graph.absents) == 0


def test_a_new_owner_and_a_dropped_one_change_the_links(world: World) -> None:
    other = Obj("ReplicaSet", "ns", "other", api_version="apps/v1")
    world.see(OWNER)
    world.see(other)
    world.see(POD, ref(OWNER))

    assert world.see(POD, ref(other)) == []
    assert world.dependents(other) == {"pod"}
    assert world.graph.nodes["owner"].dependents is None


@pytest.mark.parametrize("now", [[], [ref(OWNER)], [ref(OWNER, block=False)]], ids=["gone", "unset", "false"])
def test_an_owner_is_checked_when_a_dependent_blocks_it_no_longer(world: World, now: list[object]) -> None:
    world.see(OWNER, phase=Phase.WAITING)
    world.see(POD, ref(OWNER, block=True))
    world.told()

    assert world.see(POD, *now) == ["look owner"]  # type: ignore[arg-type]


def test_a_dependent_that_begins_to_block_causes_no_check(world: World) -> None:
    world.see(OWNER)
    world.see(POD, ref(OWNER))

    assert world.see(POD, ref(OWNER, block=True)) == []
    assert [node.uid for node in world.graph.nodes["owner"].blocking()] == ["pod"]


def test_deletion_in_the_foreground_has_the_owner_and_its_dependents_looked_at(world: World) -> None:
    world.see(OWNER)
    world.see(POD, ref(OWNER))

    assert world.see(OWNER, phase=Phase.WAITING) == ["look owner", "look pod"]
    assert world.see(OWNER, phase=Phase.WAITING) == []
    assert world.gone(POD) == ["look owner"]


def test_deletion_that_orphans_is_told_once(world: World) -> None:
    world.see(OWNER)

    assert world.see(OWNER, phase=Phase.ORPHANING) == ["orphan owner"]
    assert world.see(OWNER, phase=Phase.ORPHANING) == []


def test_an_owner_to_be_orphaned_first_waits_for_its_dependents_later(world: World) -> None:
    world.see(OWNER, phase=Phase.ORPHANING)
    world.told()

    assert world.see(OWNER, phase=Phase.WAITING) == ["look owner"]


def test_deletion_that_only_other_finalizers_hold_up_is_nothing_to_do(world: World) -> None:
    world.see(OWNER)
    world.see(POD, ref(OWNER))

    assert world.see(OWNER, phase=Phase.LEAVING) == []
    assert world.graph.nodes["owner"].is_being_deleted


def test_an_owner_first_seen_in_foreground_deletion_is_checked(world: World) -> None:
    world.see(POD, ref(OWNER))
    world.told()

    assert world.see(OWNER, phase=Phase.WAITING) == ["look owner", "look pod"]


@pytest.mark.parametrize("owner_first", [True, False])
def test_an_owner_in_another_namespace_is_told_and_the_dependent_looked_at(world: World, owner_first: bool) -> None:
    elsewhere = Obj("ReplicaSet", "other", "web", "owner", "apps/v1")
    if owner_first:
        world.see(elsewhere)
        told = world.see(POD, ref(elsewhere))
    else:
        world.see(POD, ref(elsewhere))
        world.told()
        told = world.see(elsewhere)

    assert told == ["look pod", "misplaced pod owner"]


@pytest.mark.parametrize("owner_first", [True, False])
def test_an_owner_without_a_namespace_may_be_named_from_any(world: World, owner_first: bool) -> None:
    if owner_first:
        world.see(NODE)
        assert world.see(POD, ref(NODE)) == []
    else:
        world.see(POD, ref(NODE))
        assert world.graph.nodes["node"].namespace == "ns"
        world.told()
        assert world.see(NODE) == []
        assert world.graph.nodes["node"].namespace == ""


def test_a_dependent_that_names_its_owner_wrongly_is_looked_at(world: World) -> None:
    world.see(OWNER)

    assert world.see(POD, ref(OWNER, api_version="extensions/v1beta1")) == ["look pod"]


def test_a_dependent_with_a_wrong_guess_is_checked_when_its_owner_appears(world: World) -> None:
    world.see(POD, ref(OWNER, name="wrong"))
    world.told()

    assert world.see(OWNER) == ["look pod"]
    assert world.graph.nodes["owner"].identity == OWNER.identity


def test_a_differing_reference_to_the_same_uid_is_checked(world: World) -> None:
    world.see(OWNER)
    world.see(POD, ref(OWNER))

    assert world.see(POD, ref(OWNER, name="wrong")) == ["look pod"]
    assert world.see(POD, ref(OWNER)) == []
    assert world.dependents(OWNER) == {"pod"}


def test_objects_that_wait_for_each_other_in_a_circle_hold_nobody_up(world: World) -> None:
    one, two, three = (Obj("Pod", "ns", name) for name in ("one", "two", "three"))
    for obj, owner in ((one, three), (two, one), (three, two)):
        world.see(obj, ref(owner, block=True), phase=Phase.WAITING)
    nodes = world.graph.nodes
    assert all(not nodes[obj.uid].holding_up() for obj in (one, two, three))

    # Somebody outside of the circle still does.
    world.see(POD, ref(one, block=True))
    assert {node.uid for node in nodes["one"].holding_up()} == {"two", "pod"}


def test_an_object_does_not_wait_for_itself(world: World) -> None:
    world.see(POD, ref(POD, block=True), phase=Phase.WAITING)

    assert world.graph.nodes["pod"].holding_up() == []


def test_those_in_a_row_wait_for_the_last_one(world: World) -> None:
    one, two, three = (Obj("Pod", "ns", name) for name in ("one", "two", "three"))
    world.see(one, phase=Phase.WAITING)
    world.see(two, ref(one, block=True), phase=Phase.WAITING)
    world.see(three, ref(two, block=True))

    assert [node.uid for node in world.graph.nodes["one"].holding_up()] == ["two"]
    assert [node.uid for node in world.graph.nodes["two"].holding_up()] == ["three"]


def test_an_absent_virtual_owner_is_removed_and_its_dependents_are_checked(
    world: World,
) -> None:
    world.see(POD, ref(OWNER))
    world.told()

    assert world.absent(OWNER.identity) == ["look pod"]
    assert world.graph.absents.get(OWNER.identity)
    assert "owner" not in world.graph.nodes


def test_an_owner_that_exists_stays_when_another_name_of_it_is_absent(world: World) -> None:
    world.see(OWNER)
    wrong = OWNER.identity._replace(api_version="extensions/v1beta1")
    world.see(POD, ref(OWNER, api_version="extensions/v1beta1"))
    world.told()

    assert world.absent(wrong) == ["look pod"]
    assert world.graph.absents.get(wrong)
    assert "owner" in world.graph.nodes


def test_a_virtual_owner_with_two_names_is_tried_under_the_other(world: World) -> None:
    good, bad = Obj("Pod", "ns", "good"), Obj("Pod", "ns", "bad")
    world.see(bad, ref(OWNER, kind="Secret", api_version="v1"))
    assert world.see(good, ref(OWNER)) == ["look good"]

    wrong = OWNER.identity._replace(kind="Secret", api_version="v1")
    assert world.absent(wrong) == ["later owner", "look bad"]
    assert world.graph.absents.get(wrong)
    assert world.graph.nodes["owner"].identity == OWNER.identity
    assert world.graph.nodes["owner"].is_virtual


def test_dependents_with_and_without_a_namespace_do_not_contradict_each_other(world: World) -> None:
    """kubernetes/kubernetes#98040: a cluster-wide object names an owner that belongs to a namespace."""
    cluster_wide, good = Obj("Node", "", "bad"), Obj("Pod", "ns", "good")
    world.see(cluster_wide, ref(OWNER))
    assert world.graph.nodes["owner"].namespace == ""

    assert world.see(good, ref(OWNER)) == ["look good"]


def test_the_absence_of_an_object_that_is_there_removes_it(world: World) -> None:
    world.see(POD, ref(OWNER))

    world.absent(POD.identity)
    assert "pod" not in world.graph.nodes
    assert world.graph.nodes["owner"].dependents is None


def test_what_is_not_known_can_be_gone_or_absent(world: World) -> None:
    assert world.gone(POD) == []
    assert world.absent(POD.identity) == []


def test_objects_that_own_each_other_are_in_the_graph_like_others(world: World) -> None:
    one, other = Obj("Pod", "ns", "one"), Obj("Pod", "ns", "other")
    world.see(one, ref(other))
    world.see(other, ref(one))

    assert world.dependents(one) == {"other"}
    assert world.dependents(other) == {"one"}
    world.gone(one)
    assert world.gone(other) == []
    assert world.graph.nodes == {}


@pytest.mark.parametrize("seed", range(20))
def test_after_any_events_the_links_are_those_of_the_references(seed: int) -> None:
    rng = random.Random(seed)
    world = World()
    objects = [Obj("Pod", "ns", f"o{number}") for number in range(12)]
    there: dict[str, list[str]] = {}
    for _ in range(400):
        obj = rng.choice(objects)
        if obj.uid in there and rng.random() < 0.3:
            world.gone(obj)
            del there[obj.uid]
            # No uid is given twice.
            objects[objects.index(obj)] = Obj("Pod", "ns", obj.name, f"{obj.uid}'")
            continue
        owners = rng.sample(objects, rng.randrange(3))
        there[obj.uid] = [owner.uid for owner in owners]
        world.see(obj, *(ref(owner) for owner in owners), phase=rng.choice(list(Phase)[1:]))

        for uid, node in world.graph.nodes.items():
            want = {dependent for dependent, owners_ in there.items() if uid in owners_}
            assert {dependent.uid for dependent in node.dependents or ()} >= want
            assert node.is_virtual == (uid not in there)
            assert not want or node.dependents
