"""StatefulSets against the embedded server, from being made to being scaled, updated and rolled back.

What is told when several things fail in one sync.
"""

from __future__ import annotations

from typing import Any

import pytest

from kinformer.client import PatchType
from kinformer.models import V1StatefulSet
from kinformer_controllers.statefulset.controller import StatefulSetController
from tests.controllers.objects import FakeContext, FakeInformers
from tests.controllers.refusing import refusing_client
from tests.controllers.statefulset.objects import make_set
from tests.controllers.statefulset.world import World, running


def rolling(**update: Any) -> dict[str, Any]:
    return {"type": "RollingUpdate", "rollingUpdate": {"partition": 0, **update}}


async def make_running(world: World, replicas: int = 3, **spec: Any) -> None:
    await world.apply(make_set(replicas, **spec))
    await world.bring_up()


async def test_a_set_of_two_thousand_million_pods_starts_one_by_one() -> None:
    async with running() as world:
        await world.apply(make_set((1 << 31) - 1))
        assert await world.names() == ["web-0"]
        await world.run(0)

        assert await world.names() == ["web-0", "web-1"]
        assert (await world.status())["replicas"] == 2


async def test_in_order_pods_go_one_at_a_time_the_highest_first() -> None:
    async with running() as world:
        await make_running(world)
        await world.change(replicas=1)
        assert await world.names() == ["web-0", "web-1"]

        await world.remove()
        assert await world.names() == ["web-0"]
        await world.remove()
        assert (await world.status())["replicas"] == 1


async def test_a_pod_that_has_ended_is_made_again_with_its_claim() -> None:
    async with running() as world:
        await make_running(world, volumes=("data",))
        for phase in ("Failed", "Succeeded"):
            await world.run(1, phase=phase, ready=False)
            await world.remove()
            assert "web-1 img Pending" in await world.shown()
            await world.bring_up()

        assert len((await world.claims.list("default")).items) == 3


async def test_a_rollback_makes_the_old_revision_the_newest_again() -> None:
    async with running() as world:
        await make_running(world, 1)
        first = (await world.status())["currentRevision"]
        await world.image("new")
        await world.remove()
        await world.bring_up()
        assert await world.history() == [(1, "img"), (2, "new")]

        await world.image("img")
        await world.remove()
        await world.bring_up()

        assert await world.shown() == ["web-0 img Running"]
        assert await world.history() == [(2, "new"), (3, "img")]
        assert (await world.status())["currentRevision"] == first


async def test_a_rollback_in_the_middle_of_an_update_goes_back_at_once() -> None:
    async with running() as world:
        await make_running(world)
        await world.image("broken")
        await world.remove()
        assert "web-2 broken Pending" in await world.shown()

        await world.image("img")
        # As in Kubernetes, a pod that never became ready has to be deleted by hand where pods wait for each other.
        await world.remove("web-2")
        await world.bring_up()

        assert await world.shown() == [f"web-{number} img Running" for number in range(3)]


async def test_the_oldest_revisions_that_no_pod_has_are_deleted_beyond_the_limit() -> None:
    async with running() as world:
        await make_running(world, 1, revisionHistoryLimit=1)
        for image in ("two", "three", "four"):
            await world.image(image)
            await world.remove()
            await world.bring_up()
        await world.settle()

        assert await world.history() == [(3, "three"), (4, "four")]


async def test_revisions_that_pods_have_stay_whatever_the_limit() -> None:
    async with running() as world:
        await make_running(world, 2, revisionHistoryLimit=0, updateStrategy={"type": "OnDelete"})
        for image in ("two", "three"):
            await world.image(image)
        await world.settle()

        assert await world.history() == [(1, "img"), (3, "three")]


async def test_an_update_waits_for_min_ready_seconds_and_the_clock_tells_when() -> None:
    async with running() as world:
        await world.apply(make_set(2, minReadySeconds=30))
        await world.run(0)
        assert await world.names() == ["web-0"]
        await world.settle(30)
        assert await world.names() == ["web-0", "web-1"]
        await world.run(1)
        assert (await world.status())["availableReplicas"] == 1

        await world.settle(30)

        assert (await world.status())["availableReplicas"] == 2


async def test_a_set_that_is_being_deleted_makes_and_removes_nothing() -> None:
    async with running() as world:
        await make_running(world, 2)
        body = {"metadata": {"finalizers": ["example.com/wait"]}}
        await world.sets.patch("web", body, "default")
        await world.sets.delete("web", "default")
        await world.remove("web-1")

        assert await world.names() == ["web-0"]
        assert (await world.status())["replicas"] == 1


async def test_a_named_orphan_is_adopted_and_an_unmatched_one_released() -> None:
    async with running() as world:
        await make_running(world, 2)
        await world.pods.patch("web-1", {"metadata": {"labels": {"app": "other"}}}, "default")
        await world.settle()
        released = await world.pods.get("web-1", "default")
        assert not released.metadata.owner_references

        await world.pods.patch("web-1", {"metadata": {"labels": {"app": "web"}}}, "default")
        await world.settle()

        adopted = await world.pods.get("web-1", "default")
        assert [one.name for one in adopted.metadata.owner_references or ()] == ["web"]


@pytest.mark.parametrize(("policy", "left"), [(("Retain", "Retain"), []), (("Delete", "Retain"), ["web-1"])])
async def test_scaling_down_hands_claims_to_the_pods_that_go(policy: tuple[str, str], left: list[str]) -> None:
    async with running() as world:
        await make_running(world, 2, volumes=("data",), policy=policy)
        await world.change(replicas=1)

        claim = await world.claims.get("data-web-1", "default")
        assert [one.name for one in claim.metadata.owner_references or ()] == left


async def test_a_changed_policy_changes_the_owners_of_claims_that_are_there() -> None:
    async with running() as world:
        await make_running(world, 1, volumes=("data",), policy=("Retain", "Retain"))
        await world.change(persistentVolumeClaimRetentionPolicy={"whenDeleted": "Delete", "whenScaled": "Retain"})

        claim = await world.claims.get("data-web-0", "default")
        assert [one.kind for one in claim.metadata.owner_references or ()] == ["StatefulSet"]


async def test_a_pod_waits_for_its_claim_to_go_with_the_last_pod() -> None:
    async with running() as world:
        await make_running(world, 2, volumes=("data",), policy=("Delete", "Retain"))
        await world.change(replicas=1)
        await world.remove()
        await world.change(replicas=2)
        assert await world.names() == ["web-0"]

        # The protection of claims in use is another controller's.
        await world.claims.patch(
            "data-web-1", {"metadata": {"finalizers": None}}, "default", patch_type=PatchType.MERGE
        )
        await world.claims.delete("data-web-1", "default")
        await world.settle()

        assert await world.names() == ["web-0", "web-1"]


async def test_a_refused_pod_is_the_syncs_error_despite_a_refused_status() -> None:
    informers = FakeInformers()
    informers.informer_for(V1StatefulSet).indexer.add(make_set())
    controller = StatefulSetController(FakeContext(refusing_client(V1StatefulSet), informers))

    with pytest.raises(RuntimeError, match="the pod is refused"):
        await controller.sync("ns/web")
