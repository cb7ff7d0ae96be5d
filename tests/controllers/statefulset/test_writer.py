"""Writing the pods of a StatefulSet and their claims."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kinformer.client.errors import AlreadyExists, ApiError, Conflict, Status, error_from_status
from kinformer.models import V1PersistentVolumeClaim, V1Pod, to_dict
from kinformer_controllers.statefulset.pods import Version, has_identity, has_storage, new_pod
from kinformer_controllers.statefulset.writer import ClaimError, StatefulPodWriter
from tests.controllers.objects import FakeInformers, FakeRecorder, conflict, forbidden, not_found
from tests.controllers.statefulset.objects import make_claim, make_pod, make_set, reference, stamp

SET = make_set(volumes=("data", "logs"))
MOUNTS = [{"name": name, "persistentVolumeClaim": {"claimName": f"{name}-web-1"}} for name in ("data", "logs")]


class World:
    """Writes go into lists; each verb raises what the test has put into `errors` for it."""

    def __init__(self) -> None:
        self.informers = FakeInformers()
        self.recorder = FakeRecorder()
        self.done: list[str] = []
        self.errors: dict[str, list[Exception]] = {}
        self.fresh: V1Pod | None = None
        client: Any = SimpleNamespace(resource=self._resource)
        self.writer = StatefulPodWriter(client, self.claims, self.recorder)

    @property
    def claims(self) -> Any:
        return self.informers.informer_for(V1PersistentVolumeClaim).indexer

    def _resource(self, model: type[Any]) -> Any:
        kind = "pod" if model is V1Pod else "claim"

        def do(verb: str, name: str) -> None:
            if self.errors.get(f"{verb} {kind}"):
                raise self.errors[f"{verb} {kind}"].pop(0)
            self.done.append(f"{verb} {name}")

        async def create(obj: Any) -> Any:
            do("create", obj.metadata.name)
            return SimpleNamespace(metadata=SimpleNamespace(resource_version="7"))

        async def update(obj: Any) -> Any:
            do("update", obj.metadata.name)
            self.updated = obj
            return SimpleNamespace(metadata=SimpleNamespace(resource_version="8"))

        async def delete(name: str, namespace: str) -> None:
            do("delete", name)

        async def get(name: str, namespace: str) -> Any:
            self.done.append(f"get {name}")
            return self.fresh

        return SimpleNamespace(create=create, update=update, delete=delete, get=get)


@pytest.fixture
def world() -> World:
    return World()


def pod(ordinal: int = 1) -> V1Pod:
    return new_pod(Version("r1", SET), ordinal)


def already_exists() -> ApiError:
    return error_from_status(Status(code=409, reason="AlreadyExists", message="already exists"))


async def test_a_pod_is_made_after_its_claims_and_all_are_told_of(world: World) -> None:
    await world.writer.create(SET, pod())

    assert world.done == ["create data-web-1", "create logs-web-1", "create web-1"]
    assert world.recorder.events == [
        "Normal SuccessfulCreate web: Create Claim data-web-1 Pod web-1 in StatefulSet web success",
        "Normal SuccessfulCreate web: Create Claim logs-web-1 Pod web-1 in StatefulSet web success",
        "Normal SuccessfulCreate web: Create Pod web-1 in StatefulSet web successful",
    ]


async def test_claims_that_are_there_are_used_again_with_the_policys_owners(world: World) -> None:
    world.claims.add(make_claim("data-web-1"))

    await world.writer.create(SET, pod())
    assert world.done == ["create logs-web-1", "create web-1"]

    world.done.clear()
    await world.writer.create(POLICY, pod())
    assert world.done == ["create logs-web-1", "create web-1", "update data-web-1"]

    world.done.clear()
    await world.writer.create_missing_claims(POLICY, pod())
    assert world.done == ["create logs-web-1", "update data-web-1"]


async def test_a_pod_that_is_there_already_is_an_error_without_an_event(world: World) -> None:
    world.errors["create pod"] = [already_exists()]

    with pytest.raises(AlreadyExists):
        await world.writer.create(make_set(), pod())

    assert world.recorder.events == []


async def test_a_claim_that_is_refused_keeps_the_pod_from_being_made(world: World) -> None:
    world.errors["create claim"] = [forbidden("no room"), forbidden("no room")]

    with pytest.raises(ClaimError, match="failed to create PVC data-web-1: no room, failed to create PVC logs-web-1"):
        await world.writer.create(SET, pod())

    assert world.done == []
    assert [event.split(":")[0] for event in world.recorder.events] == ["Warning FailedCreate web"] * 3


async def test_a_claim_that_somebody_else_made_meanwhile_is_no_event(world: World) -> None:
    world.errors["create claim"] = [already_exists()]

    with pytest.raises(ClaimError):
        await world.writer.create(SET, pod())

    assert len([event for event in world.recorder.events if "Claim data-web-1" in event]) == 0


async def test_a_claim_that_is_being_deleted_keeps_the_pod_from_being_made(world: World) -> None:
    world.claims.add(make_claim("data-web-1", deletionTimestamp=stamp()))
    world.claims.add(make_claim("logs-web-1"))

    with pytest.raises(ClaimError, match="pvc data-web-1 is being deleted"):
        await world.writer.create(SET, pod())

    assert world.done == []


async def test_a_pod_that_is_refused_is_told_of(world: World) -> None:
    world.errors["create pod"] = [forbidden("exceeded quota")]

    with pytest.raises(ApiError, match="exceeded quota"):
        await world.writer.create(make_set(), pod())

    assert world.recorder.events == [
        "Warning FailedCreate web: Create Pod web-1 in StatefulSet web failed error: exceeded quota"
    ]


async def test_a_pod_that_is_right_is_not_written(world: World) -> None:
    await world.writer.update(SET, make_pod(1, volumes=MOUNTS))

    assert world.done == []
    assert world.recorder.events == []


async def test_a_pod_is_given_its_identity_and_its_storage(world: World) -> None:
    wrong = make_pod(1, labels={"app": "web"})
    before = to_dict(wrong)

    await world.writer.update(SET, wrong)

    assert world.done == ["create data-web-1", "create logs-web-1", "update web-1"]
    assert has_identity(SET, world.updated)
    assert has_storage(SET, world.updated)
    assert to_dict(wrong) == before
    assert world.recorder.events[-1] == "Normal SuccessfulUpdate web: Update Pod web-1 in StatefulSet web successful"


async def test_an_update_that_is_refused_is_told_of(world: World) -> None:
    world.errors["update pod"] = [forbidden("no")]
    with pytest.raises(ApiError, match="no"):
        await world.writer.update(make_set(), make_pod(1, labels={}))
    assert world.recorder.events == ["Warning FailedUpdate web: Update Pod web-1 in StatefulSet web failed error: no"]

    world.errors["create claim"] = [forbidden("no room")]
    with pytest.raises(ClaimError, match="no room"):
        await world.writer.update(SET, make_pod(1))
    assert "Warning FailedUpdate web" in world.recorder.events[-1]


async def test_an_update_that_conflicts_is_tried_on_a_fresh_copy(world: World) -> None:
    world.errors["update pod"] = [conflict()]
    world.fresh = make_pod(1, labels={"fresh": "yes"})

    await world.writer.update(make_set(), make_pod(1, labels={}))

    assert world.done == ["get web-1", "update web-1"]
    assert world.updated.metadata.labels["fresh"] == "yes"


async def test_an_update_that_conflicts_again_and_again_is_given_up(world: World) -> None:
    world.errors["update pod"] = [conflict() for _ in range(9)]
    world.fresh = make_pod(1, labels={})

    with pytest.raises(Conflict):
        await world.writer.update(make_set(), make_pod(1, labels={}))

    assert world.done == ["get web-1"] * 3


async def test_a_pod_is_deleted_and_told_of(world: World) -> None:
    await world.writer.delete(SET, make_pod(1))

    assert world.done == ["delete web-1"]
    assert world.recorder.events == ["Normal SuccessfulDelete web: Delete Pod web-1 in StatefulSet web successful"]


async def test_a_pod_that_is_gone_counts_as_deleted(world: World) -> None:
    world.errors["delete pod"] = [not_found()]

    await world.writer.delete(SET, make_pod(1))

    assert world.recorder.events == ["Normal SuccessfulDelete web: Delete Pod web-1 in StatefulSet web successful"]


async def test_a_deletion_that_is_refused_is_told_of(world: World) -> None:
    world.errors["delete pod"] = [forbidden("no")]

    with pytest.raises(ApiError):
        await world.writer.delete(SET, make_pod(1))

    assert world.recorder.events == ["Warning FailedDelete web: Delete Pod web-1 in StatefulSet web failed error: no"]


POLICY = make_set(volumes=("data", "logs"), policy=("Retain", "Delete"))


async def test_claims_are_right_when_each_that_is_there_is(world: World) -> None:
    assert world.writer.claims_are_right(POLICY, make_pod(1))

    world.claims.add(make_claim("data-web-1", reference(POLICY)))
    assert world.writer.claims_are_right(POLICY, make_pod(1))

    world.claims.add(make_claim("logs-web-1"))
    assert not world.writer.claims_are_right(POLICY, make_pod(1))


async def test_claims_get_the_owners_that_the_policy_asks_for(world: World) -> None:
    world.claims.add(make_claim("data-web-1", reference(POLICY)))
    world.claims.add(make_claim("logs-web-1"))

    await world.writer.own_claims(POLICY, make_pod(1))

    assert world.done == ["update logs-web-1"]
    assert [one.name for one in world.updated.metadata.owner_references] == ["web"]
    assert not world.claims.get_by_key("ns/logs-web-1").metadata.owner_references


async def test_a_claim_that_something_else_controls_is_told_of(world: World) -> None:
    other = {"apiVersion": "v1", "kind": "Pod", "name": "x", "uid": "x", "controller": True}
    world.claims.add(make_claim("data-web-1", other))

    await world.writer.own_claims(POLICY, make_pod(1))

    assert world.done == []
    assert world.recorder.events[0].startswith("Warning ConflictingController web: PersistentVolumeClaim data-web-1")


async def test_a_claim_whose_owners_cannot_be_written_is_named(world: World) -> None:
    world.claims.add(make_claim("data-web-1"))
    world.errors["update claim"] = [forbidden("no")]

    with pytest.raises(ClaimError, match="could not update claim data-web-1 for delete policy ownerRefs: no"):
        await world.writer.own_claims(POLICY, make_pod(1))


async def test_an_earlier_pods_claim_is_stale_where_claims_follow_pods(world: World) -> None:
    world.claims.add(make_claim("data-web-1", reference(make_pod(1), uid="earlier")))

    assert world.writer.has_stale_claim(make_set(volumes=("data",), policy=("Delete", "Retain")), pod())
    assert not world.writer.has_stale_claim(make_set(volumes=("data",), policy=("Retain", "Delete")), pod())
    assert not world.writer.has_stale_claim(make_set(volumes=("other",), policy=("Delete", "Retain")), pod())
