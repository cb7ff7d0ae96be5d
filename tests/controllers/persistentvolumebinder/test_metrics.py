"""The numbers of volumes and claims, and of what was done with storage, are shown under Kubernetes' names."""

from __future__ import annotations

import anyio
import pytest
from prometheus_client import REGISTRY

from kinformer.clock import FakeClock
from kinformer_controllers.persistentvolumebinder.metrics import OperationTimes, counted_volumes
from tests.controllers.persistentvolumebinder.plugin import Plugin
from tests.controllers.persistentvolumebinder.world import World
from tests.turning import turn


def shown(prefix: str = "pv_collector_") -> dict[str, float]:
    return {
        f"{sample.name.removeprefix(prefix)} {' '.join(sample.labels.values())}".strip(): sample.value
        for family in REGISTRY.collect()
        for sample in family.samples
        if sample.name.startswith(prefix)
    }


def tries(plugin: str, operation: str) -> dict[str, float | None]:
    labels = {"volume_plugin": plugin, "operation_name": operation, "migrated": "false"}
    name = "storage_operation_duration_seconds_count"
    return {
        status: REGISTRY.get_sample_value(name, {**labels, "status": status}) for status in ("fail-unknown", "success")
    }


def test_volumes_and_claims_are_counted_while_a_binder_runs() -> None:
    world = World()
    world.volume("a", phase="Bound", storageClassName="fast")
    world.volume("b", csi={"driver": "ebs.csi.aws.com", "volumeHandle": "h"}, volumeMode="Block")
    world.claim("c", storageClassName="fast", volumeAttributesClassName="gold")

    assert not shown()
    with counted_volumes(world.binder._cached_volumes, world.binder._cached_claims):
        assert shown() == {
            "total_pv_count kubernetes.io/host-path Filesystem": 1,
            "total_pv_count kubernetes.io/csi:ebs.csi.aws.com Block": 1,
            "bound_pv_count fast": 1,
            "unbound_pv_count": 1,
            "unbound_pvc_count ns fast gold": 1,
        }
    assert not shown()


async def test_a_volume_made_at_the_second_try_is_timed_from_the_first() -> None:
    plugin = Plugin("metered")
    plugin.errors = [OSError("no disks left")]
    world = World(plugin)
    world.storage_class(provisioner="metered")
    world.claim(storageClassName="fast")
    labels = {"plugin_name": "metered", "operation_name": "provision"}

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(world.binder.operations.run)
        await anyio.wait_all_tasks_blocked()
        for _ in range(2):
            await world.sync_claim()
            await anyio.wait_all_tasks_blocked()
            await turn(world.clock, 1)
            world.show()
        await world.sync_claim()
        tasks.cancel_scope.cancel()

    for name in ("volume_operation_total_errors", "volume_operation_errors_total"):
        assert REGISTRY.get_sample_value(name, labels) == 1
    assert REGISTRY.get_sample_value("volume_operation_total_seconds_count", labels) == 1
    assert REGISTRY.get_sample_value("volume_operation_total_seconds_sum", labels) == pytest.approx(2)
    assert tries("metered", "volume_provision") == {"fail-unknown": 1, "success": 1}


async def test_each_deletion_of_storage_is_measured_as_success_or_failure() -> None:
    plugin = Plugin("emptied")
    plugin.errors = [OSError("disk on fire")]
    world = World(plugin)
    world.volume(claim=("c", "uid-c"), phase="Released", policy="Delete")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(world.binder.operations.run)
        await anyio.wait_all_tasks_blocked()
        for _ in range(2):
            await world.sync_volume()
            await turn(world.clock, 1)
        tasks.cancel_scope.cancel()

    assert tries("emptied", "volume_delete") == {"fail-unknown": 1, "success": 1}


async def test_a_volume_that_no_plugin_can_delete_is_no_failed_operation() -> None:
    """As deleteVolumeOperation(), which returns no error then."""
    world = World()
    world.volume(claim=("c", "uid-c"), phase="Released", policy="Delete")
    labels = {"plugin_name": "N/A", "operation_name": "delete"}
    before = REGISTRY.get_sample_value("volume_operation_errors_total", labels)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(world.binder.operations.run)
        await anyio.wait_all_tasks_blocked()
        await world.sync_volume()
        await anyio.wait_all_tasks_blocked()
        await turn(world.clock, 1)
        tasks.cancel_scope.cancel()

    assert [event.split()[1] for event in world.recorder.events] == ["VolumeFailedDelete"]
    assert REGISTRY.get_sample_value("volume_operation_errors_total", labels) == before


def test_an_operation_that_is_forgotten_is_not_measured() -> None:
    times, labels = OperationTimes(FakeClock()), {"plugin_name": "forgotten", "operation_name": "delete"}
    times.begin("v", "forgotten", "delete")

    times.forget("v")
    times.end("v")
    times.fail("v")

    assert REGISTRY.get_sample_value("volume_operation_total_seconds_count", labels) is None
    assert REGISTRY.get_sample_value("volume_operation_errors_total", labels) is None


async def test_a_later_default_class_is_counted_even_if_its_write_fails() -> None:
    world = World()
    world.storage_class("late", metadata={"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}})
    names = ("retroactive_storageclass_total", "retroactive_storageclass_errors_total")
    before = [REGISTRY.get_sample_value(name) or 0.0 for name in names]
    world.claim()
    world.errors["update PersistentVolumeClaim"] = [OSError("cut")]

    with pytest.raises(OSError, match="cut"):
        await world.sync_claim()
    await world.sync_claim()

    assert [REGISTRY.get_sample_value(name) for name in names] == [before[0] + 2, before[1] + 1]
