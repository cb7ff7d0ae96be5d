"""What becomes of an object whose owners were looked at."""

from __future__ import annotations

import pytest

from kinformer.deletion.emptying import stages
from kinformer.deletion.graph import Phase
from kinformer.deletion.verdict import KEEP, Delete, Keep, Standing, Verdict, judge
from kinformer.meta import GroupResource
from tests.deletion.graph_world import Obj, World, ref

SOLID, WAITING, DANGLING = Standing.SOLID, Standing.WAITING, Standing.DANGLING


def verdict(*standings: Standing, finalizers: tuple[str, ...] = (), dependent: Phase | None = None) -> Verdict:
    world, pod = World(), Obj("Pod", "ns", "pod")
    world.see(pod)
    if dependent is not None:
        world.see(Obj("Pod", "ns", "child"), ref(pod), phase=dependent)
    owners = [(str(number), standing) for number, standing in enumerate(standings)]
    return judge(world.graph.nodes["pod"], finalizers, owners)


def test_what_has_no_owner_stays() -> None:
    assert verdict() == KEEP


def test_one_owner_that_stays_keeps_an_object() -> None:
    assert verdict(SOLID) == KEEP
    assert verdict(SOLID, SOLID) == KEEP


def test_a_remaining_object_drops_owners_that_are_gone_or_waiting() -> None:
    assert verdict(SOLID, DANGLING, WAITING) == Keep(("1", "2"))


def test_without_any_owner_that_stays_an_object_is_deleted() -> None:
    assert verdict(DANGLING) == Delete("Background")
    assert verdict(DANGLING, DANGLING) == Delete("Background")
    assert verdict(WAITING) == Delete("Background")


@pytest.mark.parametrize(("finalizer", "propagation"), [("orphan", "Orphan"), ("foregroundDeletion", "Foreground")])
def test_how_it_was_to_be_deleted_already_is_how_it_is_deleted(finalizer: str, propagation: str) -> None:
    assert verdict(DANGLING, finalizers=("x", finalizer)) == Delete(propagation)  # type: ignore[arg-type]


def test_a_blocking_dependent_waits_for_its_own_dependents() -> None:
    assert verdict(WAITING, DANGLING, dependent=Phase.LIVING) == Delete("Foreground")
    assert verdict(WAITING, dependent=Phase.LIVING, finalizers=("orphan",)) == Delete("Foreground")


def test_owners_that_may_wait_in_a_circle_are_not_held_up() -> None:
    assert verdict(WAITING, dependent=Phase.WAITING) == Delete("Foreground", unblock=True)


def test_pods_are_a_stage_of_their_own_before_all_else() -> None:
    pods, secrets, widgets = (
        GroupResource("", "pods"),
        GroupResource("", "secrets"),
        GroupResource("example.com", "widgets"),
    )
    metrics = GroupResource("metrics.k8s.io", "pods")

    assert stages([secrets, pods, metrics, widgets], lambda kind: kind) == [[pods], [secrets, metrics, widgets]]
    assert stages([secrets], lambda kind: kind) == [[secrets]]
    assert stages([], lambda kind: kind) == []
