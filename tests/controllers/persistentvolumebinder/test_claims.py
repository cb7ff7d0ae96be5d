"""A claim gets a volume that does for it, or waits, or is lost."""

from __future__ import annotations

from typing import Any

import pytest

from kinformer.manager import SyncError
from kinformer.models import V1PersistentVolume
from tests.controllers.objects import conflict
from tests.controllers.persistentvolumebinder.world import BOUND, COMPLETED, World

BINDING = [
    "update PersistentVolume v",
    "update_status PersistentVolume v",
    "update PersistentVolumeClaim ns/c",
    "update_status PersistentVolumeClaim ns/c",
]


def bound(world: World, name: str = "v", claim: str = "c") -> bool:
    """Whether the two point to each other, and both say so."""
    volume, found = world.now(name), world.claim_now(claim)
    reference = volume.spec.claim_ref
    return (
        reference is not None
        and (reference.namespace, reference.name, reference.uid) == ("ns", claim, f"uid-{claim}")
        and found.spec.volume_name == name
        and (found.metadata.annotations or {}).get(COMPLETED) == "yes"
        and (volume.status.phase, found.status.phase) == ("Bound", "Bound")
    )


async def test_a_claim_is_bound_to_a_free_volume_in_four_writes() -> None:
    world = World()
    volume, claim = world.volume(), world.claim()

    await world.sync_claim()
    for _ in range(2):  # before and after the cache shows it
        await world.sync_claim()
        await world.sync_volume()
        world.show()

    assert world.writes == BINDING
    assert bound(world)
    assert world.now().metadata.annotations == {BOUND: "yes"}
    assert world.claim_now().metadata.annotations == {BOUND: "yes", COMPLETED: "yes"}
    assert world.claim_now().status.capacity == {"storage": "10Gi"}
    assert world.claim_now().status.access_modes == ["ReadWriteOnce"]
    assert (volume.spec.claim_ref, claim.spec.volume_name) == (None, None)


@pytest.mark.parametrize("writes", range(4))
async def test_a_binding_that_was_interrupted_is_finished(writes: int) -> None:
    world = World()
    world.volume()
    world.claim()
    verb, kind, _ = BINDING[writes].split()
    world.errors[f"{verb} {kind}"] = [conflict()]

    with pytest.raises(type(conflict())):
        await world.sync_claim()
    world.show()
    await world.sync_volume()
    await world.sync_claim()

    assert bound(world)


@pytest.mark.parametrize(
    ("volume", "claim"),
    [
        pytest.param({"size": "1Gi"}, {}, id="too small"),
        pytest.param({"accessModes": ["ReadOnlyMany"]}, {}, id="other access modes"),
        pytest.param({"volumeMode": "Block"}, {}, id="another volume mode"),
        pytest.param({"storageClassName": "fast"}, {}, id="another class"),
        pytest.param({"volumeAttributesClassName": "gold"}, {}, id="another attributes class"),
        pytest.param({"labels": {"a": "b"}}, {"selector": {"matchLabels": {"a": "c"}}}, id="other labels"),
        pytest.param({"phase": "Released"}, {}, id="not available"),
        pytest.param({"phase": ""}, {}, id="no phase yet"),
        pytest.param({"deleting": True}, {}, id="being deleted"),
        pytest.param({"claim": ("other", "")}, {}, id="reserved for another claim"),
        pytest.param({"claim": ("c", "uid-of-an-older-c")}, {}, id="of an older claim"),
    ],
)
async def test_a_volume_that_does_not_do_is_not_taken(volume: dict[str, Any], claim: dict[str, Any]) -> None:
    world = World()
    world.volume(**volume)
    world.claim(**claim)

    await world.sync_claim()

    assert not world.writes
    assert world.recorder.events == [
        "Normal FailedBinding c: no persistent volumes available for this claim and no storage class is set"
    ]


@pytest.mark.parametrize("uid", ["", "uid-c"])
async def test_a_volume_that_is_reserved_for_the_claim_comes_first(uid: str) -> None:
    world = World()
    world.volume("smaller", "5Gi")
    world.volume("v", "10Gi", claim=("c", uid))
    world.claim()

    await world.sync_claim()

    assert bound(world)
    assert world.now().metadata.annotations is None  # somebody else has reserved it


async def test_a_selector_that_cannot_be_read_is_an_error() -> None:
    world = World()
    world.volume()
    world.claim(selector={"matchExpressions": [{"key": "a", "operator": "Near"}]})

    with pytest.raises(SyncError, match="error finding PV for claim 'ns/c'"):
        await world.sync_claim()


# Claims that name a volume


async def test_a_claim_that_names_a_volume_waits_for_it_to_come() -> None:
    world = World()
    world.claim(volume="v", phase="")

    await world.sync_claim()

    assert world.claim_now().status.phase == "Pending"


@pytest.mark.parametrize("reserved", [None, ("c", ""), ("c", "uid-c")])
async def test_a_claim_that_names_a_volume_gets_it(reserved: tuple[str, str] | None) -> None:
    world = World()
    world.volume(claim=reserved)
    world.claim(volume="v")

    await world.sync_claim()

    assert bound(world)
    assert world.claim_now().metadata.annotations == {COMPLETED: "yes"}


@pytest.mark.parametrize(
    ("volume", "why"),
    [
        ({"size": "1Gi"}, "requested PV is too small"),
        ({"storageClassName": "fast"}, "storageClassName does not match"),
        ({"volumeAttributesClassName": "gold"}, "volumeAttributesClassName does not match"),
        ({"volumeMode": "Block"}, "incompatible volumeMode"),
        ({"accessModes": ["ReadOnlyMany"]}, "incompatible accessMode"),
        ({"deleting": True}, 'the volume is marked for deletion "v"'),
    ],
)
async def test_a_claim_is_told_why_its_named_volume_does_not_fit(volume: dict[str, Any], why: str) -> None:
    world = World()
    world.volume(**volume)
    world.claim(volume="v")

    await world.sync_claim()

    assert world.recorder.events == [f'Warning VolumeMismatch c: Cannot bind to requested volume "v": {why}']
    assert world.now().spec.claim_ref is None


async def test_a_claim_that_names_anothers_volume_waits() -> None:
    world = World()
    world.volume(claim=("other", "uid-other"), phase="Bound")
    world.claim(volume="v")

    await world.sync_claim()

    assert world.recorder.events == ['Warning FailedBinding c: volume "v" already bound to a different claim.']
    assert not world.writes


async def test_a_bound_claim_whose_volume_is_anothers_now_is_an_error() -> None:
    world = World()
    world.volume(claim=("other", "uid-other"), phase="Bound")
    world.claim(volume="v", annotations={BOUND: "yes"})

    with pytest.raises(SyncError, match="volume already claimed by ns/other"):
        await world.sync_claim()


# Claims that were bound


@pytest.mark.parametrize(
    ("names", "event"),
    [
        (
            None,
            "Warning ClaimLost c: Bound claim has lost reference to PersistentVolume. Data on the volume is lost!",
        ),
        ("v", "Warning ClaimLost c: Bound claim has lost its PersistentVolume. Data on the volume is lost!"),
    ],
)
async def test_a_claim_whose_volume_is_gone_is_lost(names: str | None, event: str) -> None:
    world = World()
    status = {"capacity": {"storage": "10Gi"}, "accessModes": ["ReadWriteOnce"]}
    world.claim(volume=names, phase="Bound", annotations={COMPLETED: "yes"}, status=status)

    await world.sync_claim()
    world.show()
    await world.sync_claim()

    lost = world.claim_now().status
    assert (lost.phase, lost.capacity, lost.access_modes) == ("Lost", None, None)
    assert world.recorder.events == [event]


async def test_a_claim_whose_volume_is_anothers_is_lost() -> None:
    world = World()
    world.volume(claim=("other", "uid-other"), phase="Bound")
    world.claim(volume="v", phase="Bound", annotations={COMPLETED: "yes"})

    await world.sync_claim()

    assert world.claim_now().status.phase == "Lost"
    assert world.recorder.events == [
        "Warning ClaimMisbound c: Two claims are bound to the same volume, this one is bound incorrectly"
    ]


@pytest.mark.parametrize("reference", [None, ("c", "uid-c")])
async def test_a_bound_claim_whose_volume_has_forgotten_it_is_bound_again(reference: tuple[str, str] | None) -> None:
    world = World()
    world.volume(claim=reference)
    world.claim(volume="v", phase="Pending", annotations={COMPLETED: "yes"})

    await world.sync_claim()

    assert bound(world)


async def test_a_claim_that_is_bound_already_keeps_its_own_capacity() -> None:
    world = World()
    status = {"capacity": {"storage": "5Gi"}, "accessModes": ["ReadWriteOnce"]}
    world.volume(claim=("c", "uid-c"), phase="Bound")
    world.claim(volume="v", phase="Bound", annotations={COMPLETED: "yes"}, status=status)

    await world.sync_claim()

    assert not world.writes


async def test_a_claim_of_a_smaller_file_system_has_that_size() -> None:
    world = World()
    world.volume(annotations={"volume.alpha.kubernetes.io/pre-resize-capacity": "6Gi"})
    world.claim()

    await world.sync_claim()

    assert world.claim_now().status.capacity == {"storage": "6Gi"}


async def test_a_bound_claim_gets_its_volumes_attributes_class() -> None:
    world = World()
    world.volume(volumeAttributesClassName="gold")
    world.claim(volumeAttributesClassName="gold")

    await world.sync_claim()

    assert world.claim_now().status.current_volume_attributes_class_name == "gold"


# Classes


async def test_a_claim_without_a_class_gets_the_default_one() -> None:
    world = World()
    marked = {"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}
    older = {**marked, "creationTimestamp": "2025-01-01T00:00:00Z"}
    newer = {**marked, "creationTimestamp": "2026-01-01T00:00:00Z"}
    world.storage_class("older", metadata=older)
    world.storage_class("b", metadata=newer)
    world.storage_class("a", metadata=newer)
    world.claim()

    await world.sync_claim()

    assert world.writes == ["update PersistentVolumeClaim ns/c"]
    assert world.claim_now().spec.storage_class_name == "a"


async def test_a_claim_that_asks_for_no_class_gets_none() -> None:
    world = World()
    world.storage_class(metadata={"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}})
    world.claim(storageClassName="")

    await world.sync_claim()

    assert not world.writes


async def test_a_claim_that_waits_for_pods_binds_after_scheduling() -> None:
    world = World()
    world.storage_class(volumeBindingMode="WaitForFirstConsumer")
    world.volume(storageClassName="fast")
    world.claim(storageClassName="fast")

    await world.sync_claim()
    for name, phase in (("p", "Pending"), ("q", "Pending"), ("ended", "Succeeded")):
        world.pod(name, "c", phase=phase)
    await world.sync_claim()

    assert not world.writes
    first, second = world.recorder.events
    assert first == "Normal WaitForFirstConsumer c: waiting for first consumer to be created before binding"
    assert second == "Normal WaitForPodScheduled c: waiting for pods p,q to be scheduled"


# What is heard of


async def test_waiting_claims_are_checked_when_a_volume_of_their_class_frees() -> None:
    world = World()
    before, after = world.volume(phase=""), world.volume()
    world.claim()
    world.claim("other", storageClassName="fast")
    world.claim("bound", volume="w")

    world.binder._volume_changed(before, after)

    assert world.binder.claims.queue.get_nowait() == "ns/c"
    assert not len(world.binder.claims.queue)


async def test_a_deleted_claims_volume_is_checked_even_if_not_yet_named() -> None:
    world = World()
    named = world.claim(volume="v")
    world.volume("w", claim=("c", "uid-c"))

    world.binder._claim_gone("ns/c", named)

    assert {world.binder.volumes.queue.get_nowait(), world.binder.volumes.queue.get_nowait()} == {"v", "w"}


async def test_a_volume_that_goes_has_its_claim_looked_at() -> None:
    world = World()
    world.claim()
    world.volume()
    await world.sync_claim()
    seen = world.informers.informer_for(V1PersistentVolume).indexer.get_by_key("v")

    world.binder._volume_gone("v", seen)  # the cache had not shown the binding yet

    assert world.binder.claims.queue.get_nowait() == "ns/c"


def test_a_claim_whose_provisioner_was_migrated_says_so() -> None:
    from kinformer_controllers.shared.volumes.translation import migration_of_claim, migration_of_volume

    provisioner, migrated = "volume.kubernetes.io/storage-provisioner", "pv.kubernetes.io/migrated-to"
    assert migration_of_claim({provisioner: "kubernetes.io/aws-ebs"}) == {
        provisioner: "kubernetes.io/aws-ebs",
        migrated: "ebs.csi.aws.com",
    }
    assert migration_of_claim({provisioner: "kubernetes.io/aws-ebs", migrated: "ebs.csi.aws.com"}) is None
    assert migration_of_claim({provisioner: "example.com/x", migrated: "ebs.csi.aws.com"}) == {
        provisioner: "example.com/x"
    }
    assert migration_of_claim(None) is None
    assert migration_of_volume({"pv.kubernetes.io/provisioned-by": "kubernetes.io/gce-pd"}) == {
        "pv.kubernetes.io/provisioned-by": "kubernetes.io/gce-pd",
        migrated: "pd.csi.storage.gke.io",
    }
    assert migration_of_volume({migrated: "pd.csi.storage.gke.io"}) is None
