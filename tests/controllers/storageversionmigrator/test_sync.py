"""A StorageVersionMigration has the server write the objects of one resource anew, and says how it ended."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from kinformer.client import PatchType, Served
from kinformer.client.errors import InternalError
from kinformer.clock import FakeClock
from kinformer.manager import ControllerDisabled, SyncError
from kinformer.meta import GroupResource, GroupVersion
from kinformer.models import V1ConfigMap, V1CustomResourceDefinition, from_dict
from kinformer_controllers.storageversionmigrator.controller import make_controller
from kinformer_controllers.storageversionmigrator.migrating import Migrator, ResourceVersions, find_resource
from kinformer_controllers.storageversionmigrator.migrations import Migration, turn_of
from kinformer_controllers.storageversionmigrator.running import MigrationRunner
from tests.controllers.nodes import Cluster, cluster
from tests.controllers.objects import FakeContext, FakeInformers

MAKE = {"storage-version-migrator-controller": make_controller}
ON = {"feature_gates": "StorageVersionMigrator=true"}
APIS = ("storagemigration.k8s.io/v1beta1",)
CONFIG_MAPS = {"resource": "configmaps"}
_START = FakeClock().now()
WIDGETS = {"group": "example.com", "resource": "widgets"}


def migration(name: str = "m", resource: dict[str, str] = CONFIG_MAPS, **more: Any) -> Migration:
    return from_dict(Migration, {"metadata": {"name": name}, "spec": {"resource": resource}, **more})


def said(found: Migration) -> dict[str, tuple[str, str, str]]:
    return {one.type: (one.status, one.reason, one.message) for one in found.status.conditions or ()}


RAN = ("False", "MigrationCompleted", "Migration completed")
RUNS = ("True", "MigrationRunning", "The migration is running")
SUCCEEDED = ("True", "StorageVersionMigrationSucceeded", "")


def failed(message: str) -> tuple[str, str, str]:
    return ("True", "StorageVersionMigrationFailed", message)


class World:
    """A cluster whose server notes the patches of ConfigMaps and widgets."""

    def __init__(self, found: Cluster) -> None:
        self.cluster = found
        self.migrations = found.client.resource(Migration)
        self.config_maps = found.client.resource(V1ConfigMap)
        self.definitions = found.client.resource(V1CustomResourceDefinition)
        self.patched: list[str] = []
        found.server.faults.refuse(500, times=1, matching=self._note)

    def _note(self, call: Any) -> bool:
        if call.verb == "patch" and not call.part:
            self.patched.append(call.name)
        return False

    async def make(self, *names: str) -> None:
        for name in names:
            about = {"name": name, "namespace": "default"}
            await self.config_maps.create(from_dict(V1ConfigMap, {"metadata": about}))

    async def get(self, name: str = "m") -> Migration:
        return await self.migrations.get(name)

    async def define(self, storage: str = "v1") -> None:
        schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
        versions = [{"name": one, "served": True, "storage": one == storage, "schema": schema} for one in ("v1", "v2")]
        names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}
        spec = {"group": "example.com", "names": names, "scope": "Namespaced", "versions": versions}
        body = {"metadata": {"name": "widgets.example.com"}, "spec": spec}
        await self.definitions.create(from_dict(V1CustomResourceDefinition, body))

    async def store(self, storage: str) -> None:
        """Have the server store new widgets in this version."""
        found = await self.definitions.get("widgets.example.com")
        for version in found.spec.versions:
            version.storage = version.name == storage
        await self.definitions.update(found)

    async def definition(self) -> tuple[list[str], tuple[str, str, str] | None]:
        """The stored versions, and what the condition StorageMigrating says."""
        status = (await self.definitions.get("widgets.example.com")).status
        about = [(it.status, it.reason or "", it.message or "") for it in status.conditions if it.type[:7] == "Storage"]
        return list(status.stored_versions), about[0] if about else None

    def stop_migrations(self) -> None:
        """Have the server refuse to say which version a resource has, until its faults end."""
        self.cluster.server.faults.refuse(500, times=100, matching=lambda call: "@" in call.namespace)

    async def turn(self, seconds: float) -> None:
        await self.cluster.turn(seconds)


@asynccontextmanager
async def world() -> AsyncIterator[World]:
    async with cluster(MAKE, ON, apis=APIS) as found:
        yield World(found)


async def test_the_objects_that_are_there_are_written_anew() -> None:
    async with world() as there:
        await there.make("a", "b")
        before = (await there.config_maps.list("default")).items
        await there.migrations.create(migration())
        await there.turn(1)

        found = await there.get()
        assert said(found) == {"Running": RAN, "Succeeded": SUCCEEDED}
        assert (found.status.resource_version or "").isdecimal()
        assert {"a", "b"} <= set(there.patched)
        # Nothing has changed for others: this server stores objects in one version.
        assert (await there.config_maps.list("default")).items == before


class Alone:
    """Two of the three controllers, with a cache that the test fills."""

    def __init__(self, there: Cluster) -> None:
        self.world = World(there)
        self.informers: Any = FakeInformers()
        context = FakeContext(there.client, self.informers, clock=there.clock)
        self.migrator, self.versions = Migrator(context), ResourceVersions(context)

    def have(self, made: Migration) -> None:
        """Have a migration in the cache."""
        self.informers.informer_for(Migration).indexer.add(made)

    async def begin(self, resource: dict[str, str] = CONFIG_MAPS) -> None:
        """Have a migration up to the present version."""
        made = await self.world.migrations.create(migration(resource=resource))
        version = (await self.world.config_maps.list()).resource_version
        made.status = from_dict(Migration, {"status": {"resourceVersion": version}}).status
        self.have(await self.world.migrations.update_status(made))

    async def sync(self) -> dict[str, tuple[str, str, str]]:
        await self.migrator.sync("m")
        return said(await self.world.get())


@asynccontextmanager
async def alone() -> AsyncIterator[Alone]:
    async with cluster({}, apis=APIS) as there:
        yield Alone(there)


async def test_objects_that_are_newer_than_the_migration_are_left_alone() -> None:
    async with alone() as it:
        await it.world.make("old", "changed")
        await it.begin()
        await it.world.make("new")
        await it.world.config_maps.patch("changed", {"data": {"a": "b"}}, "default")
        it.world.patched.clear()

        assert await it.sync() == {"Succeeded": SUCCEEDED}
        assert "old" in it.world.patched
        assert not {"new", "changed"} & set(it.world.patched)


@pytest.mark.parametrize("remake", [False, True], ids=["deleted", "made again"])
async def test_an_object_that_goes_meanwhile_is_not_made_and_costs_nothing(
    remake: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with alone() as it:
        await it.world.make("a")
        await it.begin()
        resource = type(it.world.config_maps)
        listed = resource.list

        async def delete_then(self: Any, *args: Any, **options: Any) -> Any:
            page = await listed(self, *args, **options)
            monkeypatch.undo()
            await it.world.config_maps.delete("a", "default")
            if remake:
                await it.world.make("a")
            return page

        monkeypatch.setattr(resource, "list", delete_then)
        assert await it.sync() == {"Succeeded": SUCCEEDED}
        assert "a" in it.world.patched
        names = [one.metadata.name for one in (await it.world.config_maps.list("default")).items]
        assert ("a" in names) is remake


async def test_a_passing_error_is_tried_again_and_another_one_ends_the_migration() -> None:
    async with alone() as it:
        await it.world.make("a")
        await it.begin()
        faults = it.world.cluster.server.faults
        is_patch: Callable[[Any], bool] = lambda call: call.verb == "patch" and call.name == "a"  # noqa: E731
        faults.refuse(500, times=20, matching=is_patch)
        with pytest.raises(InternalError):
            await it.migrator.sync("m")
        assert said(await it.world.get()) == {}

        faults.end_all()
        faults.refuse(403, times=20, matching=is_patch)
        [message] = [text for _, _, text in (await it.sync()).values()]
        assert message.startswith("migration encountered unhandled error: ")


async def test_a_version_that_is_no_number_ends_a_migration(monkeypatch: pytest.MonkeyPatch) -> None:
    async with alone() as it:
        await it.world.make("a")
        await it.begin()
        resource = type(it.world.config_maps)
        listed = resource.list

        async def listed_oddly(self: Any, *args: Any, **options: Any) -> Any:
            page = await listed(self, *args, **options)
            for one in page.items:
                one.metadata.resource_version = "abc"
            return replace(page, resource_version="abc")

        running = await it.world.migrations.create(migration("r"))
        running.status = from_dict(Migration, {"status": {}}).status
        running.status.conditions = _true("Running")
        it.have(await it.world.migrations.update_status(running))
        with monkeypatch.context() as patch:
            patch.setattr(resource, "list", listed_oddly)
            await it.migrator.sync("m")
            await it.versions.sync("r")

        assert not it.world.patched
        for name, reason in (("m", "has the resource version 'abc'"), ("r", "latest resourceVersion for /v1")):
            assert reason in said(await it.world.get(name))["Failed"][2]


async def test_a_resource_that_does_not_come_fails_after_a_minute() -> None:
    async with world() as there:
        await there.migrations.create(migration(resource=WIDGETS))
        await there.turn(59)
        assert said(await there.get()) == {"Running": RUNS}
        await there.turn(120)
        assert said(await there.get()) == {"Running": RAN, "Failed": failed("resource does not exist in discovery")}


async def test_a_resource_that_is_lost_again_fails_after_a_minute() -> None:
    async with alone() as it:
        await it.begin(WIDGETS)
        with pytest.raises(SyncError, match=r"does not serve widgets\.example\.com"):
            await it.migrator.sync("m")
        it.world.cluster.clock.turn(60)
        text = "migration encountered unhandled error: unable to obtain GVR from discovery"
        assert await it.sync() == {"Failed": failed(text)}


async def test_a_resource_that_cannot_be_patched_is_not_migrated() -> None:
    async with world() as there:
        await there.migrations.create(migration(resource={"resource": "componentstatuses"}))
        await there.turn(1)
        text = 'resource "/v1, Resource=componentstatuses" does not support discovery operations: [update patch list]'
        assert said(await there.get()) == {"Running": RAN, "Failed": failed(text)}


async def test_a_silent_group_may_or_may_not_serve_a_resource() -> None:
    async def served(*, refresh: bool) -> Served:
        return Served([], {GroupVersion("metrics.k8s.io", "v1"): "down"})

    client: Any = SimpleNamespace(discovery=SimpleNamespace(served=served))
    with pytest.raises(SyncError, match="the discovery of its group failed"):
        await find_resource(client, GroupResource("metrics.k8s.io", "nodes"))
    assert await find_resource(client, GroupResource("example.com", "widgets")) is None


async def test_a_migrated_custom_resource_forgets_its_old_stored_versions() -> None:
    async with world() as there:
        await there.define("v1")
        await there.store("v2")
        assert await there.definition() == (["v1", "v2"], None)
        await there.migrations.create(migration(resource=WIDGETS))
        await there.turn(1)

        text = "The migration has succeeded and the stored versions have been updated"
        assert await there.definition() == (["v2"], ("False", "MigrationSucceeded", text))


async def test_a_definition_that_changed_meanwhile_keeps_its_stored_versions() -> None:
    async with world() as there:
        await there.define("v1")
        await there.store("v2")
        there.stop_migrations()
        await there.migrations.create(migration(resource=WIDGETS))
        await there.turn(1)
        running = ("True", "MigrationRunning", "Migration m is running")
        assert await there.definition() == (["v1", "v2"], running)

        await there.store("v1")
        there.cluster.server.faults.end_all()
        await there.turn(60)
        text = "The migration has succeeded but the stored versions have not been updated due to a generation mismatch"
        assert await there.definition() == (["v1", "v2"], ("False", "MigrationSucceeded", text))


async def test_a_definition_keeps_its_stored_versions_if_the_migration_failed() -> None:
    async with world() as there:
        await there.define("v1")
        await there.store("v2")
        there.stop_migrations()
        made = await there.migrations.create(migration(resource=WIDGETS))
        await there.turn(1)
        made = await there.get()
        made.status.conditions = [*(made.status.conditions or ()), *_true("Failed")]
        await there.migrations.update_status(made)
        await there.turn(1)

        assert await there.definition() == (["v1", "v2"], ("False", "MigrationFailed", "The migration has failed"))


async def mark(there: World, status: str) -> None:
    """Have the definition say that a migration of its objects runs, or that it has ended."""
    found = await there.definitions.get("widgets.example.com")
    about = {"type": "StorageMigrating", "status": status, "reason": "R", "message": "of another one"}
    body = {"status": {"conditions": [about | {"observedGeneration": found.metadata.generation}]}}
    await there.definitions.patch("widgets.example.com", body, patch_type=PatchType.MERGE, subresource="status")


@pytest.mark.parametrize("cached", [(), ("Running", "Succeeded")], ids=["waiting", "running"])
async def test_a_migration_known_only_to_the_cache_marks_no_definition(cached: tuple[str, ...]) -> None:
    async with cluster({}, apis=APIS) as found:
        there, informers = World(found), FakeInformers()
        await there.define("v1")
        await there.store("v2")
        await mark(there, "True")
        runner = MigrationRunner(FakeContext(found.client, informers, clock=found.clock))
        old = await there.migrations.create(migration(resource=WIDGETS))
        old.status = from_dict(Migration, {"status": {}}).status
        old.status.conditions = _true(*cached)
        informers.informer_for(Migration).indexer.add(old)
        await there.migrations.patch("m", {"metadata": {"labels": {"has": "ended"}}})

        await runner.sync("widgets.example.com")

        assert await there.definition() == (["v1", "v2"], ("True", "R", "of another one"))


async def test_a_definition_is_released_once_if_the_status_was_not_written() -> None:
    async with world() as there:
        await there.define("v1")
        await there.store("v2")
        there.stop_migrations()
        await there.migrations.create(migration(resource=WIDGETS))
        await there.turn(1)
        # It was released for a mismatch, and the condition has the new generation since.
        await mark(there, "False")
        made = await there.get()
        made.status.conditions = [*(made.status.conditions or ()), *_true("Succeeded")]
        await there.migrations.update_status(made)
        await there.turn(1)

        assert await there.definition() == (["v1", "v2"], ("False", "R", "of another one"))
        assert said(await there.get())["Running"] == RAN


async def test_migrations_of_one_resource_run_one_after_the_other() -> None:
    async with world() as there:
        there.stop_migrations()
        for name in ("first", "second"):
            await there.migrations.create(migration(name))
            await there.turn(1)
        assert said(await there.get("first")) == {"Running": RUNS}
        assert said(await there.get("second")) == {}

        there.cluster.server.faults.end_all()
        await there.turn(60)
        assert said(await there.get("second")) == {"Running": RAN, "Succeeded": SUCCEEDED}


def _true(*types: str) -> list[Any]:
    one = {"status": "True", "reason": "R", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    found = from_dict(Migration, {"status": {"conditions": [{"type": type_, **one} for type_ in types]}})
    return list(found.status.conditions or ())


def _made(name: str, second: int, *types: str) -> Migration:
    one = migration(name)
    one.metadata.creation_timestamp = _START + timedelta(seconds=second)
    one.status = from_dict(Migration, {"status": {}}).status
    one.status.conditions = _true(*types)
    return one


@pytest.mark.parametrize(
    ("migrations", "ended", "following"),
    [
        pytest.param([_made("b", 2), _made("c", 1)], [], "c", id="the older"),
        pytest.param([_made("b", 1), _made("a", 1)], [], "a", id="by name"),
        pytest.param([_made("a", 1), _made("b", 2, "Running")], [], None, id="one runs"),
        pytest.param([_made("a", 1), _made("b", 2, "Running", "Succeeded")], ["b"], "a", id="one has ended"),
        pytest.param([_made("a", 1, "Succeeded"), _made("b", 2, "Failed")], [], None, id="all have ended"),
    ],
)
def test_the_oldest_that_waits_is_next_if_none_runs(
    migrations: list[Migration], ended: list[str], following: str | None
) -> None:
    turn = turn_of(migrations)

    assert [one.metadata.name for one in turn.ended] == ended
    assert (turn.next.metadata.name if turn.next is not None else None) == following


@pytest.mark.parametrize(
    ("gates", "off"),
    [
        ("", "StorageVersionMigrator"),
        ("StorageVersionMigrator=true,InformerResourceVersion=false", "InformerResourceVersion"),
    ],
)
def test_without_its_gates_the_controller_does_not_run(gates: str, off: str) -> None:
    with pytest.raises(ControllerDisabled, match=f"the feature gate {off} is off"):
        make_controller(FakeContext(None, None, feature_gates=gates))
