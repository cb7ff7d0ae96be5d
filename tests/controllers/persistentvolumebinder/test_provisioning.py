"""Volumes are made for claims: by a plug-in, or by whoever watches claims for its name."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import anyio
import pytest

from kinformer.models import V1Node, V1ObjectMeta
from kinformer_controllers.shared.volumes.host_path import HostPath
from kinformer_controllers.shared.volumes.plugins import ProvisionRequest
from tests.controllers.objects import already_exists, conflict, forbidden
from tests.controllers.persistentvolumebinder.plugin import Plugin
from tests.controllers.persistentvolumebinder.test_volumes import operations
from tests.controllers.persistentvolumebinder.world import BOUND, World
from tests.turning import turn

NODE = "volume.kubernetes.io/selected-node"
PROVISIONER = "volume.kubernetes.io/storage-provisioner"


async def provisioned(world: World, seconds: float = 0) -> None:
    """Sync the claim, and let what begins with it end."""
    async with operations(world):
        await world.sync_claim()
        await anyio.wait_all_tasks_blocked()
        if seconds:
            await turn(world.clock, seconds)


async def test_a_plugin_makes_a_prebound_volume_and_the_next_sync_binds() -> None:
    plugin = Plugin()
    world = World(plugin)
    world.storage_class(parameters={"disk": "fast"})
    world.claim(storageClassName="fast")

    await provisioned(world)

    assert plugin.done == ["provision pvc-uid-c"]
    assert plugin.requests[0].parameters == {"disk": "fast"}
    assert plugin.requests[0].reclaim_policy == "Delete"
    volume = world.now("pvc-uid-c")
    assert volume.spec.claim_ref is not None
    assert (volume.spec.claim_ref.name, volume.spec.claim_ref.uid) == ("c", "uid-c")
    assert volume.spec.storage_class_name == "fast"
    assert volume.metadata.annotations == {BOUND: "yes", "pv.kubernetes.io/provisioned-by": plugin.name}
    assert volume.metadata.finalizers == ["kubernetes.io/pv-controller"]
    assert (world.claim_now().metadata.annotations or {})[PROVISIONER] == plugin.name
    assert world.recorder.events == [
        f"Normal ProvisioningSucceeded c: Successfully provisioned volume pvc-uid-c using {plugin.name}"
    ]
    world.show()
    await world.sync_claim()
    assert world.claim_now().spec.volume_name == "pvc-uid-c"


async def test_a_volume_that_is_kept_has_no_finalizer() -> None:
    world = World(Plugin())
    world.storage_class(reclaimPolicy="Retain")
    world.claim(storageClassName="fast")

    await provisioned(world)

    assert world.now("pvc-uid-c").metadata.finalizers is None


async def test_a_volume_that_is_there_is_bound_rather_than_made() -> None:
    plugin = Plugin()
    world = World(plugin)
    world.storage_class()
    world.volume(storageClassName="fast")
    world.claim(storageClassName="fast")

    await provisioned(world)

    assert not plugin.done
    assert world.claim_now().spec.volume_name == "v"


async def test_what_an_earlier_try_has_made_is_not_made_again() -> None:
    plugin = Plugin()
    world = World(plugin)
    world.storage_class()
    world.uncache(world.volume("pvc-uid-c", storageClassName="fast", claim=("c", "uid-c")))
    world.claim(storageClassName="fast")

    await provisioned(world)

    assert not plugin.done


async def test_a_plugin_that_fails_is_told_of_and_asked_again() -> None:
    plugin = Plugin()
    plugin.errors = [OSError("no disk left")]
    world = World(plugin)
    world.storage_class()
    world.claim(storageClassName="fast")

    await provisioned(world)
    await turn(world.clock, 1)
    world.show()
    await provisioned(world)

    assert world.recorder.events == [
        'Warning ProvisioningFailed c: Failed to provision volume with StorageClass "fast": no disk left',
        f"Normal ProvisioningSucceeded c: Successfully provisioned volume pvc-uid-c using {plugin.name}",
    ]


async def test_the_scheduler_chooses_another_node_then() -> None:
    plugin = Plugin()
    plugin.errors = [OSError("no disk left")]
    world = World(plugin)
    world.put(V1Node(metadata=V1ObjectMeta(name="n")))
    world.storage_class(volumeBindingMode="WaitForFirstConsumer")
    world.claim(storageClassName="fast", annotations={NODE: "n"})

    await provisioned(world)

    assert NODE not in (world.claim_now().metadata.annotations or {})


async def test_the_plugin_learns_the_chosen_node_or_it_is_chosen_anew() -> None:
    there, gone = World(Plugin()), World(plugin := Plugin())
    there.put(V1Node(metadata=V1ObjectMeta(name="n")))
    for world in (there, gone):
        world.storage_class(volumeBindingMode="WaitForFirstConsumer")
        world.claim(storageClassName="fast", annotations={NODE: "n"})
        await provisioned(world)

    assert there.now("pvc-uid-c") is not None
    assert not plugin.done
    assert NODE not in (gone.claim_now().metadata.annotations or {})


async def test_a_volume_that_cannot_be_saved_at_once_is_saved_later() -> None:
    plugin = Plugin()
    world = World(plugin)
    world.storage_class()
    world.claim(storageClassName="fast")
    world.errors["create PersistentVolume"] = [forbidden()] * 4

    await provisioned(world, 50)

    assert plugin.done == ["provision pvc-uid-c"]
    assert world.now("pvc-uid-c") is not None


async def test_a_volume_that_cannot_be_saved_is_deleted_again() -> None:
    plugin = Plugin()
    world = World(plugin)
    world.storage_class()
    world.claim(storageClassName="fast")
    world.errors["create PersistentVolume"] = [forbidden("no")] * 5

    await provisioned(world, 60)

    assert plugin.done == ["provision pvc-uid-c", "delete pvc-uid-c"]
    (event,) = world.recorder.events
    assert event.startswith("Warning ProvisioningFailed c: Error creating provisioned PV object for claim ns/c:")


async def test_storage_that_cannot_be_deleted_either_is_told_of() -> None:
    plugin = Plugin()
    world = World(plugin)
    world.storage_class()
    world.claim(storageClassName="fast")
    world.errors["create PersistentVolume"] = [forbidden("no")] * 5

    def fail() -> None:
        if plugin.done[-1].startswith("delete"):
            raise OSError("disk on fire")

    plugin.meanwhile = fail
    await provisioned(world, 120)

    assert plugin.done.count("delete pvc-uid-c") == 5
    assert world.recorder.events[-1] == (
        "Warning ProvisioningCleanupFailed c: Error cleaning provisioned volume for claim ns/c: disk on fire. "
        "Please delete manually."
    )


async def test_a_volume_that_somebody_else_has_saved_meanwhile_is_taken() -> None:
    plugin = Plugin()
    world = World(plugin)
    world.storage_class()
    world.claim(storageClassName="fast")
    world.errors["create PersistentVolume"] = [already_exists()]

    await provisioned(world)

    assert plugin.done == ["provision pvc-uid-c"]
    assert world.recorder.events[0].startswith("Normal ProvisioningSucceeded")


@pytest.mark.parametrize(
    ("provisioner", "named"),
    [("example.com/external", "example.com/external"), ("kubernetes.io/aws-ebs", "ebs.csi.aws.com")],
)
async def test_an_external_provisioner_is_named_on_the_claim_and_waited_for(provisioner: str, named: str) -> None:
    world = World(Plugin())
    world.storage_class(provisioner=provisioner)
    world.claim(storageClassName="fast")

    await provisioned(world)
    world.show()
    await provisioned(world)

    annotations = world.claim_now().metadata.annotations or {}
    assert annotations[PROVISIONER] == annotations["volume.beta.kubernetes.io/storage-provisioner"] == named
    assert world.writes == ["update PersistentVolumeClaim ns/c"]
    assert world.recorder.events[0].startswith("Normal ExternalProvisioning c: Waiting for a volume to be created")
    assert f"external provisioner '{named}'" in world.recorder.events[0]


async def test_a_claim_that_cannot_be_saved_is_told_of() -> None:
    world = World()
    world.storage_class()
    world.claim(storageClassName="fast")
    world.errors["update PersistentVolumeClaim"] = [conflict()]

    await provisioned(world)

    assert world.recorder.events == ["Warning ProvisioningFailed c: Error saving claim: the object has been modified"]


@pytest.mark.parametrize(
    ("claim", "storage_class", "why"),
    [
        ({}, None, 'storageclass.storage.k8s.io "fast" not found'),
        ({}, {"provisioner": "kubernetes.io/unheard-of"}, "no volume plugin matched name: kubernetes.io/unheard-of"),
        (
            {},
            {"mountOptions": ["ro", "sync"]},
            'Mount options are not supported by the provisioner but StorageClass "fast" has mount options [ro sync]',
        ),
        (
            {"dataSource": {"kind": "VolumeSnapshot", "name": "s", "apiGroup": "snapshot.storage.k8s.io"}},
            {},
            'plugin "example.com/x" is not a CSI plugin. Only CSI plugin can provision a claim with a datasource',
        ),
    ],
)
async def test_what_cannot_be_made_is_told_of(
    claim: dict[str, Any], storage_class: dict[str, Any] | None, why: str
) -> None:
    plugin = Plugin()
    world = World(plugin)
    if storage_class is not None:
        world.storage_class(**storage_class)
    world.claim(storageClassName="fast", **claim)

    await provisioned(world)

    assert world.recorder.events == [f"Warning ProvisioningFailed c: {why}"]
    assert not plugin.done


@pytest.mark.parametrize("name", ["", None])
async def test_nothing_is_made_for_a_claim_without_a_class(name: str | None) -> None:
    plugin = Plugin()
    world = World(plugin)
    world.storage_class()
    world.claim(storageClassName=name)

    await provisioned(world)

    assert not plugin.done


async def test_nothing_is_made_where_dynamic_provisioning_is_switched_off() -> None:
    plugin = Plugin()
    world = World(plugin, enable_dynamic_provisioning=False)
    world.storage_class()
    world.claim(storageClassName="fast")

    await provisioned(world)

    assert not plugin.done
    assert not world.requests


async def test_directories_are_made_and_deleted_below_one_folder_only(tmp_path: Path) -> None:
    root = Path(tempfile.mkdtemp(dir="/tmp"))
    plugin, world = HostPath(root), World()
    request = ProvisionRequest(name="pvc-1", claim=world.claim(), reclaim_policy="Delete")

    first, second = await plugin.provision(request), await plugin.provision(request)

    source = first.spec.host_path
    assert source is not None
    assert second.spec.host_path == source
    assert first.spec.capacity == {"storage": "5Gi"}
    assert _listed(root) == [Path(source.path)]
    await plugin.delete(first)
    assert not _listed(root)
    source.path = str(root)
    await plugin.delete(first)
    _remove(root)  # it is there still
    for path in ("/x", "/tmp", f"{root}/../other"):
        source.path = path
        with pytest.raises(ValueError, match="host_path deleter only supports"):
            await plugin.delete(first)


async def test_a_plugin_that_may_make_no_volumes_is_told_of() -> None:
    world = World(HostPath(makes_volumes=False))
    world.storage_class(provisioner="kubernetes.io/host-path")
    world.claim(storageClassName="fast")

    await provisioned(world)

    why = 'Failed to create provisioner: provisioning in volume plugin "kubernetes.io/host-path" is disabled'
    assert world.recorder.events == [f"Warning ProvisioningFailed c: {why}"]
    assert (world.claim_now().metadata.annotations or {})[PROVISIONER] == "kubernetes.io/host-path"


async def test_directories_are_no_block_devices() -> None:
    request = ProvisionRequest(name="pvc-1", claim=World().claim(volumeMode="Block"), reclaim_policy="Delete")

    with pytest.raises(ValueError, match="does not support block volume provisioning"):
        await HostPath().provision(request)


def _listed(folder: Path) -> list[Path]:
    return list(folder.iterdir())


def _remove(folder: Path) -> None:
    folder.rmdir()
