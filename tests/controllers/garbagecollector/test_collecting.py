"""One object that is looked at: what the server is asked, and what is done."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kinformer.client import NoKindMatch
from kinformer.client.discovery import ApiResource
from kinformer.client.errors import Status, StatusDetails, error_from_status
from kinformer.deletion.graph import Identity, Node, Phase
from kinformer.deletion.heads import HeadMeta, Reference
from kinformer.manager import SyncError
from kinformer.meta import GroupVersionResource
from kinformer_controllers.garbagecollector.collecting import Collector
from kinformer_controllers.garbagecollector.objects import NamespacedOwnerOfClusterWide, _is_of_the_object
from tests.controllers.objects import conflict, not_found
from tests.deletion.graph_world import Obj, World, ref

OWNER = Obj("ReplicaSet", "ns", "owner", api_version="apps/v1")
POD = Obj("Pod", "ns", "pod")
_CLUSTER_WIDE = {"Node"}


class FakeObjects:
    """A server of objects, by their identities, which notes what it is asked for."""

    def __init__(self) -> None:
        self.there: dict[tuple[str, str, str], HeadMeta] = {}
        self.asked: list[str] = []
        self.errors: dict[str, list[Exception]] = {}
        self.during: dict[str, Callable[[], None]] = {}

    def put(self, obj: Obj, *owners: Reference, version: str = "1", **more: Any) -> HeadMeta:
        meta = HeadMeta(
            uid=obj.uid,
            name=obj.name,
            namespace=obj.namespace or None,
            resource_version=version,
            owner_references=list(owners) or None,
            **more,
        )
        self.there[obj.kind.kind, obj.namespace, obj.name] = meta
        return meta

    def _ask(self, what: str) -> None:
        self.asked.append(what)
        if happens := self.during.get(what):
            happens()
        if errors := self.errors.get(what.partition(" at ")[0]):
            raise errors.pop(0)

    async def kind_of(self, api_version: str, kind: str) -> ApiResource:
        if kind == "Ghost":
            raise NoKindMatch("no Ghost")
        return ApiResource(GroupVersionResource("", "v1", kind.lower()), kind, kind not in _CLUSTER_WIDE)

    async def get(self, identity: Identity) -> HeadMeta:
        kind = await self.kind_of(identity.api_version, identity.kind)
        if kind.namespaced and not identity.namespace:
            raise NamespacedOwnerOfClusterWide(str(identity))
        self._ask(f"get {identity.name}")
        found = self.there.get((identity.kind, identity.namespace if kind.namespaced else "", identity.name))
        if found is None:
            raise not_found()
        return found

    async def delete(self, identity: Identity, propagation: str, version: str = "") -> None:
        self._ask(
            f"delete {identity.name} {propagation} at {version}" if version else f"delete {identity.name} {propagation}"
        )

    async def disown(self, identity: Identity, owners: tuple[str, ...]) -> None:
        self._ask(f"disown {identity.name} of {','.join(owners)}")

    async def unblock(self, identity: Identity, meta: HeadMeta) -> None:
        self._ask(f"unblock {identity.name}")
        for reference in meta.owner_references or ():
            reference.block_owner_deletion = False

    async def take_finalizer(self, identity: Identity, meta: HeadMeta, finalizer: str) -> None:
        self._ask(f"take {finalizer} from {identity.name}")


class Scene:
    def __init__(self) -> None:
        self.world = World()
        self.objects = FakeObjects()
        self.cache: dict[str, HeadMeta] = {}
        self.looks: list[str] = []
        objects: Any = self.objects
        self.collector = Collector(
            self.world.graph,
            objects,
            lambda node: self.cache.get(node.uid),
            lambda node: self.looks.append(node.uid),
            self.catch_up,
        )

    async def catch_up(self) -> tuple[str, ...]:
        return ()

    async def collect(self, obj: Obj) -> float | None:
        self.world.told()
        self.objects.asked.clear()
        return await self.collector.collect(obj.uid)

    @property
    def asked(self) -> list[str]:
        return self.objects.asked


@pytest.fixture
def scene() -> Scene:
    return Scene()


async def test_an_object_with_an_absent_owner_is_deleted_at_that_version(scene: Scene) -> None:
    scene.world.see(POD, ref(OWNER))
    scene.objects.put(POD, ref(OWNER), version="5")

    assert await scene.collect(POD) is None
    assert scene.asked == ["get pod", "get owner", "delete pod Background at 5"]
    assert scene.world.graph.absents.get(OWNER.identity)


async def test_what_a_cache_has_is_not_asked_for(scene: Scene) -> None:
    scene.world.see(POD, ref(OWNER))
    scene.cache["pod"] = scene.objects.put(POD, ref(OWNER), version="5")

    await scene.collect(POD)
    assert scene.asked == ["get owner", "delete pod Background at 5"]


async def test_an_owner_that_is_known_to_be_absent_is_not_asked_for(scene: Scene) -> None:
    scene.world.see(POD, ref(OWNER))
    scene.cache["pod"] = scene.objects.put(POD, ref(OWNER), version="5")
    scene.world.graph.absents.put(OWNER.identity, True)

    await scene.collect(POD)
    assert scene.asked == ["delete pod Background at 5"]


async def test_an_object_with_an_owner_of_another_uid_is_deleted(scene: Scene) -> None:
    scene.world.see(POD, ref(OWNER))
    scene.cache["pod"] = scene.objects.put(POD, ref(OWNER))
    scene.objects.put(Obj("ReplicaSet", "ns", "owner", uid="another", api_version="apps/v1"))

    await scene.collect(POD)
    assert scene.asked == ["get owner", "delete pod Background at 1"]


async def test_an_object_that_the_cache_shows_without_its_new_owner_is_kept(scene: Scene) -> None:
    new = Obj("ReplicaSet", "ns", "new", api_version="apps/v1")
    scene.world.see(POD, ref(OWNER))
    scene.cache["pod"] = scene.objects.put(POD, ref(OWNER), version="5")
    scene.objects.put(POD, ref(OWNER), ref(new), version="6")
    scene.objects.put(new)
    scene.objects.errors["delete pod Background"] = [conflict()]

    await scene.collect(POD)
    assert scene.asked[-3:] == ["get pod", "get new", "disown pod of owner"]


async def test_an_object_that_changes_often_without_its_owners_is_deleted(scene: Scene) -> None:
    scene.world.see(POD, ref(OWNER))
    scene.objects.put(POD, ref(OWNER), version="5")
    scene.objects.errors["delete pod Background"] = [conflict()]

    def changed(what: str, ask: Any = scene.objects._ask) -> None:
        if what.startswith("delete"):
            scene.objects.put(POD, ref(OWNER), version="6")
        ask(what)

    scene.objects._ask = changed  # type: ignore[method-assign]
    await scene.collect(POD)
    assert scene.asked == ["get pod", "get owner", "delete pod Background at 5", "get pod", "delete pod Background"]


@pytest.mark.parametrize("uid", ["", "another"])
async def test_an_object_that_is_gone_or_replaced_is_told_to_the_graph(scene: Scene, uid: str) -> None:
    scene.world.see(POD, ref(OWNER))
    if uid:
        scene.objects.put(Obj("Pod", "ns", "pod", uid=uid))

    await scene.collect(POD)
    assert scene.asked == ["get pod"]
    assert "pod" not in scene.world.graph.nodes


async def test_an_object_that_vanishes_during_its_deletion_is_told_to_the_graph(scene: Scene) -> None:
    scene.world.see(POD, ref(OWNER))
    scene.objects.put(POD, ref(OWNER))
    scene.objects.errors["delete pod Background"] = [not_found()]

    await scene.collect(POD)
    assert "pod" not in scene.world.graph.nodes


async def test_an_awaited_dependent_that_vanishes_is_told_to_the_graph(scene: Scene) -> None:
    scene.world.see(OWNER, phase=Phase.WAITING)
    scene.world.see(POD, ref(OWNER, block=True))
    scene.world.see(Obj("Pod", "ns", "child"), ref(POD))
    scene.objects.put(OWNER, deletion_timestamp="now", finalizers=["foregroundDeletion"])
    scene.objects.put(POD, ref(OWNER, block=True))
    scene.objects.errors["delete pod Foreground"] = [not_found()]

    await scene.collect(POD)
    assert "delete pod Foreground at 1" in scene.asked
    assert "pod" not in scene.world.graph.nodes


async def test_references_in_a_circle_are_unblocked_and_all_checked_again(scene: Scene) -> None:
    child = Obj("Pod", "ns", "child")
    scene.world.see(OWNER, phase=Phase.WAITING)
    scene.world.see(POD, ref(OWNER, block=True))
    scene.world.see(child, ref(POD), phase=Phase.WAITING)
    scene.objects.put(OWNER, deletion_timestamp="now", finalizers=["foregroundDeletion"])
    scene.cache["pod"] = scene.objects.put(POD, ref(OWNER, block=True), version="5")

    await scene.collect(POD)
    assert scene.asked == ["get owner", "unblock pod", "get pod", "get owner", "delete pod Foreground at 5"]


async def test_a_deletion_seen_during_the_check_is_no_circle(scene: Scene) -> None:
    child = Obj("Pod", "ns", "child")
    scene.world.see(OWNER, phase=Phase.WAITING)
    scene.world.see(POD, ref(OWNER, block=True))
    scene.world.see(child, ref(POD, block=True))
    waiting: dict[str, Any] = {"deletion_timestamp": "now", "finalizers": ["foregroundDeletion"]}
    scene.objects.put(OWNER, **waiting)
    scene.objects.put(POD, ref(OWNER, block=True), version="6", **waiting)

    def seen() -> None:
        scene.world.see(POD, ref(OWNER, block=True), phase=Phase.WAITING)
        scene.world.see(child, ref(POD, block=True), phase=Phase.WAITING)

    scene.objects.during["get owner"] = seen
    await scene.collect(POD)
    assert scene.asked == ["get pod", "get owner"]


async def test_what_is_being_deleted_is_left_to_itself(scene: Scene) -> None:
    scene.world.see(POD, ref(OWNER), phase=Phase.LEAVING)

    await scene.collect(POD)
    assert scene.asked == []


async def test_what_has_no_owner_stays(scene: Scene) -> None:
    scene.world.see(POD)
    scene.objects.put(POD)

    await scene.collect(POD)
    assert scene.asked == ["get pod"]


async def test_an_owner_that_waits_for_nobody_any_more_loses_its_finalizer(scene: Scene) -> None:
    scene.world.see(OWNER, phase=Phase.WAITING)
    scene.objects.put(OWNER, finalizers=["foregroundDeletion"])
    scene.world.see(POD, ref(OWNER, block=False))

    await scene.collect(OWNER)
    assert scene.asked == ["get owner", "take foregroundDeletion from owner"]


async def test_awaited_dependents_are_checked_unless_they_wait_themselves(scene: Scene) -> None:
    scene.world.see(OWNER, phase=Phase.WAITING)
    scene.world.see(POD, ref(OWNER, block=True))
    scene.world.see(Obj("Pod", "ns", "waiting"), ref(OWNER, block=True), phase=Phase.WAITING)

    await scene.collect(OWNER)
    assert scene.looks == ["pod"]
    assert scene.asked == []


async def test_an_existing_virtual_owner_is_checked_again_ever_later(scene: Scene) -> None:
    scene.world.see(POD, ref(OWNER))
    scene.objects.put(OWNER)

    waits = [await scene.collect(OWNER) for _ in range(3)]
    assert waits == [0.005, 0.01, 0.02]
    scene.world.see(OWNER)
    assert await scene.collect(OWNER) is None


async def test_an_owner_of_a_kind_that_is_not_served_keeps_its_dependents(scene: Scene) -> None:
    ghost = Obj("Ghost", "ns", "ghost")
    scene.world.see(POD, ref(ghost))
    scene.objects.put(POD, ref(ghost))

    assert await scene.collect(POD) == 0.005
    assert scene.asked == ["get pod"]


async def test_a_cluster_object_naming_a_namespaced_owner_is_left_alone(
    scene: Scene,
) -> None:
    node = Obj("Node", "", "n1")
    scene.world.see(node, ref(OWNER))
    scene.objects.put(node, ref(OWNER))

    assert await scene.collect(node) == 0.005
    assert scene.asked == ["get n1"]

    gone = Obj("Node", "", "gone")
    scene.objects.put(node, ref(gone))
    await scene.collect(node)
    assert scene.asked == ["get n1", "get gone", "delete n1 Background at 1"]


async def test_a_virtual_objects_owners_are_in_its_own_namespace(scene: Scene) -> None:
    node = Obj("Node", "", "n1")
    scene.world.see(POD, ref(node))
    assert scene.world.graph.nodes["n1"].namespace == "ns"
    scene.objects.put(node, ref(OWNER))

    await scene.collect(node)
    assert scene.asked == ["get n1"]


async def test_an_owner_goes_only_once_all_its_dependents_were_let_go(scene: Scene) -> None:
    scene.world.see(OWNER, phase=Phase.ORPHANING)
    scene.objects.put(OWNER, finalizers=["orphan"])
    scene.world.see(POD, ref(OWNER))
    scene.world.see(Obj("Pod", "ns", "other"), ref(OWNER))
    scene.objects.errors["disown pod of owner"] = [conflict()]

    with pytest.raises(SyncError, match=r"failed to orphan dependents of owner .*orphaning .*name: pod"):
        await scene.collector.orphan("owner")
    assert "take orphan from owner" not in scene.asked

    await scene.collector.orphan("owner")
    assert scene.asked[-1] == "take orphan from owner"


async def test_a_dependent_that_is_gone_needs_not_be_let_go(scene: Scene) -> None:
    scene.world.see(OWNER, phase=Phase.ORPHANING)
    scene.objects.put(OWNER, finalizers=["orphan"])
    scene.world.see(POD, ref(OWNER))
    scene.objects.errors["disown pod of owner"] = [not_found()]

    await scene.collector.orphan("owner")
    assert scene.asked[-1] == "take orphan from owner"


def test_a_404_is_about_the_object_only_if_it_names_it() -> None:
    def error(details: StatusDetails | None) -> Any:
        return error_from_status(Status(code=404, reason="NotFound", message="m", details=details))

    assert _is_of_the_object(error(StatusDetails(name="pod", kind="pods")))
    assert not _is_of_the_object(error(None))
    assert not _is_of_the_object(error(StatusDetails(kind="pods")))


def test_a_node_says_what_it_is() -> None:
    node = Node(POD.kind, "ns", "pod", "u", (), Phase.LIVING)

    assert repr(node) == "<Node LIVING [v1/Pod, namespace: ns, name: pod, uid: u]>"
