from __future__ import annotations

from typing import Any

import pytest

from kinformer.client.errors import Status, error_from_status
from kinformer.clock import FakeClock
from kinformer.controllerutil.claiming import AdoptionError, ControllerRefManager, recheck_deletion
from kinformer.meta import GroupVersionKind, selector_from_set
from kinformer.models import V1Pod, V1ReplicationController
from tests.controllers.objects import FakePods, conflict, make_pod, make_rc, not_found

KIND = GroupVersionKind("", "v1", "ReplicationController")
NOW = FakeClock().now()


async def allow() -> None:
    """Adopting is fine."""


def manager_for(rc: V1ReplicationController, pods: FakePods, **more: Any) -> ControllerRefManager[V1Pod]:
    return ControllerRefManager(
        rc, KIND, selector_from_set({"app": "web"}), pods.patch, more.pop("can_adopt", allow), **more
    )


async def claimed(manager: ControllerRefManager[V1Pod], *pods: V1Pod) -> list[str]:
    return [pod.metadata.name for pod in await manager.claim(pods)]


async def test_what_it_owns_and_selects_is_claimed_without_a_write() -> None:
    rc, pods = make_rc(), FakePods()

    assert await claimed(manager_for(rc, pods), make_pod("a", rc), make_pod("b", rc)) == ["a", "b"]
    assert pods.patches == []


async def test_an_orphan_that_matches_is_adopted_and_says_so_with_its_uid() -> None:
    rc, pods = make_rc(), FakePods()

    assert await claimed(manager_for(rc, pods), make_pod("orphan"), make_pod("stranger", app="other")) == ["orphan"]

    ((name, metadata),) = pods.patches
    assert (name, metadata["uid"]) == ("orphan", "uid-orphan")
    assert metadata["ownerReferences"] == [
        {
            "apiVersion": "v1",
            "kind": "ReplicationController",
            "name": "web",
            "uid": "uid-web",
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]


async def test_what_it_owns_and_selects_no_longer_is_released() -> None:
    rc, pods = make_rc(), FakePods()

    assert await claimed(manager_for(rc, pods), make_pod("a", rc, app="other")) == []
    assert pods.patches == [("a", {"uid": "uid-a", "ownerReferences": [{"$patch": "delete", "uid": "uid-web"}]})]


async def test_what_another_owns_is_left_alone() -> None:
    pods = FakePods()

    assert await claimed(manager_for(make_rc(), pods), make_pod("a", make_rc(name="other"))) == []
    assert pods.patches == []


async def test_a_controller_being_deleted_neither_adopts_nor_releases() -> None:
    rc, pods = make_rc(), FakePods()
    rc.metadata.deletion_timestamp = NOW

    manager = manager_for(rc, pods)

    assert await claimed(manager, make_pod("mine", rc), make_pod("lost", rc, app="x"), make_pod("orphan")) == ["mine"]
    assert pods.patches == []


async def test_an_orphan_that_is_being_deleted_is_not_adopted() -> None:
    pods = FakePods()

    assert await claimed(manager_for(make_rc(), pods), make_pod("a", deleted_at=NOW)) == []
    assert pods.patches == []


async def test_a_pod_gone_before_its_adoption_or_release_is_no_error() -> None:
    rc, pods = make_rc(), FakePods()

    def gone(_: str) -> None:
        raise not_found()

    pods.on_patch = gone

    assert await claimed(manager_for(rc, pods), make_pod("orphan"), make_pod("lost", rc, app="x")) == []


async def test_a_release_that_is_invalid_has_nothing_left_to_release() -> None:
    rc, pods = make_rc(), FakePods()

    def invalid(_: str) -> None:
        raise error_from_status(Status(code=422, reason="Invalid"))

    pods.on_patch = invalid

    assert await claimed(manager_for(rc, pods), make_pod("lost", rc, app="x")) == []


async def test_one_pod_that_cannot_be_claimed_does_not_keep_the_others() -> None:
    rc, pods = make_rc(), FakePods()

    def refuse_first(name: str) -> None:
        if name == "first":
            raise conflict()

    pods.on_patch = refuse_first

    with pytest.raises(ExceptionGroup, match="ReplicationController web") as raised:
        await manager_for(rc, pods).claim([make_pod("first"), make_pod("second")])

    assert len(raised.value.exceptions) == 1
    assert [name for name, _ in pods.patches] == ["first", "second"]


async def test_permission_to_adopt_is_checked_once_and_only_when_needed() -> None:
    rc, pods = make_rc(), FakePods()
    asked = 0

    async def refuse() -> None:
        nonlocal asked
        asked += 1
        raise ValueError("it is going")

    manager = manager_for(rc, pods, can_adopt=refuse)
    await manager.claim([make_pod("mine", rc)])
    assert asked == 0

    with pytest.raises(ExceptionGroup) as raised:
        await manager.claim([make_pod("one"), make_pod("two")])
    assert asked == 1
    assert str(raised.value.exceptions[0]) == "can't adopt V1Pod ns/one (uid-one): it is going"
    assert pods.patches == []


async def test_finalizers_come_with_adoption_and_go_with_release() -> None:
    rc, pods = make_rc(), FakePods()

    await manager_for(rc, pods, finalizers=["f"]).claim([make_pod("orphan"), make_pod("lost", rc, app="x")])

    assert pods.patches[0][1]["finalizers"] == ["f"]
    assert pods.patches[1][1]["$deleteFromPrimitiveList/finalizers"] == ["f"]


async def test_filters_narrow_what_is_claimed() -> None:
    pods = FakePods()

    assert await manager_for(make_rc(), pods).claim([make_pod("orphan")], lambda pod: False) == []
    assert pods.patches == []


async def test_the_fresh_read_finds_a_deletion_and_a_controller_made_anew() -> None:
    rc = make_rc()

    async def read() -> V1ReplicationController:
        return rc

    await recheck_deletion(read, "uid-web")()
    with pytest.raises(AdoptionError, match="got uid uid-web, want uid-old"):
        await recheck_deletion(read, "uid-old")()
    rc.metadata.deletion_timestamp = NOW
    with pytest.raises(AdoptionError, match="ns/web has just been deleted"):
        await recheck_deletion(read, "uid-web")()
