"""Finding how many pods the controller of a pod wants."""

from __future__ import annotations

from typing import Any

import pytest

from kinformer.models import V1OwnerReference
from kinformer_controllers.disruption.counting import ScaleError
from tests.controllers.disruption.world import World, reference, webapps


@pytest.fixture
def world() -> World:
    return World()


async def find(world: World, owner: dict[str, Any]) -> tuple[str, int] | None:
    names = {"apiVersion": "api_version"}
    found = await world.disruption.scales.find(
        V1OwnerReference(**{names.get(key, key): value for key, value in owner.items()}), "ns"
    )
    return tuple(found) if found is not None else None


@pytest.mark.parametrize("kind", ["ReplicationController", "ReplicaSet", "StatefulSet"])
async def test_a_controller_of_kubernetes_own_is_found_in_its_cache(world: World, kind: str) -> None:
    owner = world.owner(kind, "c", 10)

    assert await find(world, reference(owner)) == ("uid-c", 10)


async def test_a_controller_that_does_not_say_wants_one_pod(world: World) -> None:
    assert await find(world, reference(world.owner("StatefulSet", "c", None))) == ("uid-c", 1)


async def test_of_a_replica_set_of_a_deployment_the_deployment_decides(world: World) -> None:
    deployment = world.owner("Deployment", "d", 10)

    assert await find(world, reference(world.owner("ReplicaSet", "rs", 4, owner=deployment))) == ("uid-d", 10)


@pytest.mark.parametrize(
    "change",
    [{"apiVersion": "apps.kruise.io/v1alpha1"}, {"kind": "ReplicaMonster"}, {"apiVersion": "v1"}],
    ids=["another group", "another kind", "no group"],
)
async def test_one_of_another_group_or_kind_is_asked_for_on_the_server(world: World, change: dict[str, str]) -> None:
    owner = reference(world.owner("ReplicaSet", "c", 10)) | change

    with pytest.raises(Exception, match=f'no matches for kind "{owner["kind"]}"'):
        await find(world, owner)


async def test_a_namesake_of_another_uid_is_not_the_controller(world: World) -> None:
    world.served = [webapps()]
    owner = reference(world.owner("ReplicationController", "c", 10)) | {"uid": "another"}

    with pytest.raises(Exception, match='no matches for kind "ReplicationController"'):
        await find(world, owner)


@pytest.mark.parametrize(
    ("owner", "wants"),
    [
        ({"apiVersion": "apps/v1", "kind": "Deployment"}, True),
        ({"apiVersion": "extensions/v1beta1", "kind": "Deployment"}, True),
        ({"apiVersion": "example.com/v1", "kind": "Deployment"}, False),
    ],
)
async def test_a_replica_sets_deployment_is_known_by_its_group(
    world: World, owner: dict[str, str], wants: bool
) -> None:
    deployment = world.owner("Deployment", "d", 10)
    replica_set = world.owner("ReplicaSet", "rs", 4, owner=deployment)
    replica_set.metadata.owner_references[0].api_version = owner["apiVersion"]

    if wants:
        assert await find(world, reference(replica_set)) == ("uid-d", 10)
    else:
        with pytest.raises(Exception, match='no matches for kind "ReplicaSet"'):
            await find(world, reference(replica_set))


async def test_the_scale_for_all_pods_of_a_replica_set_is_found_once(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[str] = []
    find = world.disruption.scales.find

    async def noted(owner: V1OwnerReference, namespace: str) -> Any:
        found.append(owner.name)
        return await find(owner, namespace)

    monkeypatch.setattr(world.disruption.scales, "find", noted)
    replica_set = world.owner("ReplicaSet", "rs", 4, owner=world.owner("Deployment", "d", 10))
    world.budget(maxUnavailable=5)
    for number in range(4):
        world.pod(f"p{number}", reference(replica_set))

    await world.sync()

    assert found == ["rs"]
    assert world.counts == (0, 4, 5, 10)


WEBAPP = {"apiVersion": "example.com/v1", "kind": "WebApp", "name": "w", "uid": "uid-w", "controller": True}


async def test_a_custom_resource_tells_by_its_scale(world: World) -> None:
    world.served = [webapps()]
    world.scales["w"] = {"metadata": {"name": "w", "namespace": "ns", "uid": "uid-w"}, "spec": {"replicas": 10}}
    world.budget(maxUnavailable=5)
    for number in range(4):
        world.pod(f"p{number}", WEBAPP)

    await world.sync()

    assert world.counts == (0, 4, 5, 10)


async def test_a_scale_with_a_selector_that_cannot_be_read_is_an_error(world: World) -> None:
    world.served = [webapps()]
    metadata = {"name": "w", "namespace": "ns", "uid": "uid-w"}
    world.scales["w"] = {"metadata": metadata, "spec": {"replicas": 10}, "status": {"replicas": 0, "selector": "!!"}}

    with pytest.raises(ScaleError, match="not convertible to autoscaling Scale"):
        await find(world, WEBAPP)


async def test_the_scale_of_a_namesake_does_not_count(world: World) -> None:
    world.served = [webapps()]
    world.scales["w"] = {"metadata": {"name": "w", "namespace": "ns", "uid": "another"}, "spec": {"replicas": 10}}

    assert await find(world, WEBAPP) is None


async def test_a_missing_custom_resource_differs_from_a_kind_without_scale(world: World) -> None:
    world.served = [webapps()]
    assert await find(world, WEBAPP) is None

    world.served = [webapps(subresources=("status",))]
    with pytest.raises(ScaleError, match=r"webapps\.example\.com does not implement the scale subresource"):
        await find(world, WEBAPP)


async def test_an_api_version_that_is_none_is_named(world: World) -> None:
    with pytest.raises(ScaleError, match="the owner reference to WebApp w"):
        await find(world, WEBAPP | {"apiVersion": "a/b/c"})


async def test_a_pod_whose_controller_is_gone_fails_the_budget(world: World) -> None:
    world.served = [webapps()]
    world.budget(maxUnavailable=1)
    world.pod("p", WEBAPP)

    await world.sync()

    (condition,) = world.status.conditions or ()
    assert (condition.reason, condition.message) == ("SyncFailed", 'found no controllers for pod "p"')
