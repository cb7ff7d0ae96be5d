"""A volume is free, bound, or released and then reclaimed as its policy says."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest

from kinformer.models import V1Pod
from kinformer_controllers.shared.volumes.facts import Volume
from kinformer_controllers.shared.volumes.plugins import VolumeInUse
from tests.controllers.objects import forbidden
from tests.controllers.persistentvolumebinder.plugin import Plugin
from tests.controllers.persistentvolumebinder.world import BOUND, World
from tests.turning import turn

PROVISIONED = "pv.kubernetes.io/provisioned-by"
FINALIZER = "kubernetes.io/pv-controller"


@asynccontextmanager
async def operations(world: World) -> AsyncIterator[None]:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(world.binder.operations.run)
        await anyio.wait_all_tasks_blocked()
        yield
        tasks.cancel_scope.cancel()


async def reclaimed(world: World) -> None:
    """Sync the volume, and let what begins with it end."""
    async with operations(world):
        await world.sync_volume()
        await anyio.wait_all_tasks_blocked()


@pytest.mark.parametrize("claim", [None, ("c", "")])
async def test_a_volume_that_is_free_or_reserved_is_available(claim: tuple[str, str] | None) -> None:
    world = World()
    world.volume(phase="", claim=claim)

    await world.sync_volume()

    assert world.writes == ["update_status PersistentVolume v"]
    assert world.now().status.phase == "Available"


async def test_a_volume_whose_claim_names_it_is_bound() -> None:
    world = World()
    world.volume(claim=("c", "uid-c"))
    world.claim(volume="v")

    await world.sync_volume()

    assert world.now().status.phase == "Bound"


async def test_a_volume_whose_claim_names_none_yet_has_the_claim_looked_at() -> None:
    world = World()
    world.volume(claim=("c", "uid-c"), phase="Bound")
    world.claim()

    await world.sync_volume()

    assert world.binder.claims.queue.get_nowait() == "ns/c"
    assert not world.writes


async def test_a_volume_with_a_claim_of_another_mode_is_reported_and_left() -> None:
    world = World()
    why = "due to incompatible volumeMode."
    world.volume(claim=("c", "uid-c"), volumeMode="Block")
    world.claim()

    await world.sync_volume()

    assert world.recorder.events == [
        f'Warning VolumeMismatch v: Cannot bind PersistentVolume to requested PersistentVolumeClaim "c" {why}',
        f'Warning VolumeMismatch c: Cannot bind PersistentVolume "v" to requested PersistentVolumeClaim {why}',
    ]
    assert not len(world.binder.claims.queue)


@pytest.mark.parametrize("other", [None, "uid-of-a-newer-c"])
async def test_a_volume_whose_claim_is_gone_is_released(other: str | None) -> None:
    world = World()
    world.volume(claim=("c", "uid-of-an-older-c"), phase="Bound")
    if other:
        world.claim()

    await reclaimed(world)

    assert world.requests == ["get PersistentVolumeClaim ns/c", "update_status PersistentVolume v"]
    assert world.now().status.phase == "Released"
    assert world.now().spec.claim_ref is not None


async def test_a_volume_is_not_released_while_its_claim_is_only_uncached() -> None:
    world = World()
    world.volume(claim=("c", "uid-c"), phase="Bound")
    world.uncache(world.claim(volume="v"))

    await world.sync_volume()

    assert world.requests == ["get PersistentVolumeClaim ns/c"]


async def test_a_volume_is_not_released_if_the_server_does_not_answer() -> None:
    world = World()
    world.volume(claim=("c", "uid-c"), phase="Bound")
    world.errors["get PersistentVolumeClaim"] = [forbidden()]

    with pytest.raises(type(forbidden())):
        await world.sync_volume()

    assert world.now().status.phase == "Bound"


@pytest.mark.parametrize("phase", ["Released", "Failed"])
async def test_the_phase_of_a_volume_that_was_released_or_has_failed_stays(phase: str) -> None:
    world = World()
    world.volume(claim=("c", "uid-c"), phase=phase)

    await reclaimed(world)

    assert not world.writes


async def test_our_bound_volume_is_freed_when_its_claim_has_another() -> None:
    world = World()
    world.volume(claim=("c", "uid-c"), phase="Bound", annotations={BOUND: "yes"})
    world.claim(volume="w")

    await world.sync_volume()

    assert world.writes == ["update PersistentVolume v", "update_status PersistentVolume v"]
    assert world.now().spec.claim_ref is None
    assert world.now().metadata.annotations is None
    assert world.now().status.phase == "Available"


async def test_one_that_a_user_had_reserved_stays_reserved() -> None:
    world = World()
    world.volume(claim=("c", "uid-c"), phase="Bound")
    world.claim(volume="w")

    await world.sync_volume()

    reference = world.now().spec.claim_ref
    assert reference is not None
    assert (reference.name, reference.uid) == ("c", None)
    assert world.now().status.phase == "Available"


async def test_one_that_was_made_for_the_claim_is_deleted_then() -> None:
    plugin = Plugin()
    world = World(plugin)
    world.volume(
        claim=("c", "uid-c"), phase="Bound", policy="Delete", annotations={BOUND: "yes", PROVISIONED: plugin.name}
    )
    world.claim(volume="w")

    await reclaimed(world)

    assert plugin.done == ["delete v"]
    assert world.now() is None


async def test_an_unknown_policy_is_a_failure() -> None:
    world = World()
    world.volume(claim=("c", "uid-c"), phase="Released", policy="Burn")

    await reclaimed(world)

    assert world.now().status.phase == "Failed"
    assert world.recorder.events == [
        "Warning VolumeUnknownReclaimPolicy v: Volume has unrecognized PersistentVolumeReclaimPolicy"
    ]


# Delete


async def test_a_released_volume_is_deleted_with_its_storage() -> None:
    plugin = Plugin()
    world = World(plugin)
    world.volume(claim=("c", "uid-c"), phase="Bound", policy="Delete")

    await reclaimed(world)

    assert plugin.done == ["delete v"]
    assert world.writes == ["update_status PersistentVolume v", "delete PersistentVolume v"]


async def test_the_finalizer_goes_after_the_storage() -> None:
    plugin = Plugin("kubernetes.io/host-path")
    world = World(plugin)
    annotations = {PROVISIONED: plugin.name}
    world.volume(claim=("c", "uid-c"), phase="Released", policy="Delete", annotations=annotations)

    await reclaimed(world)

    assert world.writes == [
        "update PersistentVolume v",  # it gets the finalizer
        "update PersistentVolume v",  # and loses it
        "delete PersistentVolume v",
    ]


class Recycler:
    """A plug-in that deletes nothing."""

    name = "example.com/recycler"

    def supports(self, volume: Volume) -> bool:
        return True


@pytest.mark.parametrize(
    ("plugins", "why"), [((), "no volume plugin matched"), ((Recycler(),), "no deletable volume plugin matched")]
)
async def test_a_volume_that_no_plugin_deletes_has_failed(plugins: tuple[Recycler, ...], why: str) -> None:
    world = World(*plugins)
    world.volume(claim=("c", "uid-c"), phase="Released", policy="Delete")

    await reclaimed(world)

    assert world.now().status.phase == "Failed"
    where = 'error getting deleter volume plugin for volume "v"'
    assert world.recorder.events == [f"Warning VolumeFailedDelete v: {where}: {why}"]


async def test_a_plugins_failed_deletion_is_retried_ever_later() -> None:
    plugin = Plugin()
    plugin.errors = [OSError("disk on fire"), OSError("disk on fire")]
    world = World(plugin)
    world.volume(claim=("c", "uid-c"), phase="Released", policy="Delete")

    async with operations(world):
        for tries, wait in ((1, 0.4), (1, 0.1), (2, 0.9), (2, 0.1), (3, 0.0)):
            await world.sync_volume()
            await turn(world.clock, wait)
            assert len(plugin.done) == tries

    assert world.recorder.events == ["Warning VolumeFailedDelete v: disk on fire"]
    assert world.now() is None


async def test_a_volume_in_use_is_no_failure() -> None:
    plugin = Plugin()
    plugin.errors = [VolumeInUse("still mounted")]
    world = World(plugin)
    world.volume(claim=("c", "uid-c"), phase="Released", policy="Delete")

    await reclaimed(world)

    assert world.now().status.phase == "Released"
    assert world.recorder.events == ["Normal VolumeDelete v: still mounted"]


async def test_a_volume_that_was_bound_again_before_it_was_deleted_stays() -> None:
    plugin = Plugin()
    world = World(plugin)
    seen = world.volume(claim=("c", "uid-of-an-older-c"), phase="Released", policy="Delete")
    world.volume(claim=("c", "uid-c"), phase="Bound", policy="Delete")
    world.cache(seen)
    world.claim(volume="v")

    await reclaimed(world)

    assert not plugin.done


@pytest.mark.parametrize(
    "volume",
    [
        {"annotations": {PROVISIONED: "example.com/elsewhere"}},
        {"csi": {"driver": "d", "volumeHandle": "h"}},
        {"annotations": {PROVISIONED: "kubernetes.io/aws-ebs"}},
    ],
    ids=["provisioned elsewhere", "CSI", "migrated"],
)
async def test_what_others_delete_is_left_to_them(volume: dict[str, object]) -> None:
    plugin = Plugin()
    world = World(plugin)
    world.volume(claim=("c", "uid-c"), phase="Released", policy="Delete", **volume)  # type: ignore[arg-type]

    await reclaimed(world)

    assert not plugin.done
    assert world.now().status.phase == "Released"


async def test_a_volume_is_deleted_once_at_a_time() -> None:
    release = anyio.Event()

    class Slow(Plugin):
        async def delete(self, volume: object) -> None:
            self.done.append("delete")
            await release.wait()

    plugin = Slow()
    world = World(plugin)
    world.volume(claim=("c", "uid-c"), phase="Released", policy="Delete")

    async with operations(world):
        for _ in range(3):
            await world.sync_volume()
            await anyio.wait_all_tasks_blocked()
        assert plugin.done == ["delete"]
        release.set()


# Recycle


async def test_a_volume_is_recycled_and_free_again() -> None:
    plugin = Plugin()
    world = World(plugin)
    world.volume(claim=("c", "uid-c"), phase="Bound", policy="Recycle", annotations={BOUND: "yes"})

    await reclaimed(world)

    assert plugin.done == ["recycle v"]
    assert world.now().spec.claim_ref is None
    assert world.now().status.phase == "Available"
    assert world.recorder.events == ["Normal VolumeRecycled v: Volume recycled"]


async def test_a_volume_that_pods_use_is_not_recycled() -> None:
    plugin = Plugin()
    world = World(plugin)
    world.volume(claim=("c", "uid-c"), phase="Released", policy="Recycle")
    world.pod("q", "c", node="n", phase="Running")
    world.pod("p", "c")
    world.pod("ended", "c", phase="Succeeded")

    await reclaimed(world)

    assert not plugin.done
    assert world.recorder.events == ["Normal VolumeFailedRecycle v: Volume is used by pods: ns/p,ns/q"]


async def test_a_volume_used_by_an_uncached_pod_is_not_recycled() -> None:
    plugin = Plugin()
    world = World(plugin)
    world.volume(claim=("c", "uid-c"), phase="Released", policy="Recycle")
    world.pod("p", "c", phase="Running")
    world.uncache(world.on_server(V1Pod, "ns/p"))

    await reclaimed(world)

    assert not plugin.done


async def test_pods_of_the_next_claim_of_that_name_do_not_block_it() -> None:
    plugin = Plugin()
    world = World(plugin)
    world.volume(claim=("c", "uid-of-an-older-c"), phase="Released", policy="Recycle")
    world.claim(volume="w")
    world.pod("p", "c", phase="Running")

    await reclaimed(world)

    assert plugin.done == ["recycle v"]


@pytest.mark.parametrize(
    ("plugins", "message"),
    [((), "No recycler plugin found for the volume!"), ((Plugin(),), "Recycle failed: disk on fire")],
)
async def test_what_cannot_be_recycled_is_a_failure(plugins: tuple[Plugin, ...], message: str) -> None:
    for plugin in plugins:
        plugin.errors = [OSError("disk on fire")]
    world = World(*plugins)
    world.volume(claim=("c", "uid-c"), phase="Released", policy="Recycle")

    await reclaimed(world)

    assert world.now().status.phase == "Failed"
    assert world.recorder.events == [f"Warning VolumeFailedRecycle v: {message}"]


# Finalizers


@pytest.mark.parametrize(
    ("policy", "provisioner", "before", "after"),
    [
        ("Delete", "kubernetes.io/host-path", [], [FINALIZER]),
        ("Delete", "kubernetes.io/host-path", ["mine", FINALIZER], ["mine", FINALIZER]),
        ("Retain", "kubernetes.io/host-path", ["mine", FINALIZER], ["mine"]),
        ("Delete", "kubernetes.io/aws-ebs", ["mine", FINALIZER], ["mine"]),
        ("Delete", "example.com/x", [], []),
        ("Delete", "", [], []),
        (
            "Delete",
            "kubernetes.io/host-path",
            ["external-provisioner.volume.kubernetes.io/finalizer"],
            [FINALIZER],
        ),
    ],
)
async def test_a_deletable_volume_made_here_has_a_finalizer(
    policy: str, provisioner: str, before: list[str], after: list[str]
) -> None:
    world = World()
    annotations = {PROVISIONED: provisioner} if provisioner else None
    world.volume(policy=policy, annotations=annotations, finalizers=before or None)

    await world.sync_volume()

    assert (world.now().metadata.finalizers or []) == after
