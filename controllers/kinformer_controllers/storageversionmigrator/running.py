"""The runner of migrations: says of one migration of each resource that it runs.

In: StorageVersionMigrations. Out: their condition Running; and, if the resource is a custom one, the condition
StorageMigrating of its definition, and the versions in which its objects are stored. Promised: a version is removed
from the definition only if the migration has succeeded, and the definition has not changed since it began. Before a
definition is written, the server is asked whether the migration is still as the cache shows it: by now it may have
ended, and another one may run.
"""

from __future__ import annotations

from typing import Any, Final

from kinformer.client import PatchType
from kinformer.client.errors import NotFound
from kinformer.controllerutil.conditions import get_condition, is_condition_true, replace_condition, set_condition
from kinformer.manager import Controller, ControllerContext
from kinformer.models import V1CustomResourceDefinition, V1CustomResourceDefinitionCondition, to_dict
from kinformer_controllers.storageversionmigrator.migrations import (
    RUNNING,
    SUCCEEDED,
    Migration,
    conditions_of,
    resource_of,
    turn_of,
    with_outcome,
    with_status,
)

__all__ = ("MigrationRunner",)

#: The name of the controller, and of the manager of the fields that it sets in definitions.
_NAME: Final = "migration-runner-controller"
_MIGRATING: Final = "StorageMigrating"


class MigrationRunner:
    """Syncs resources. A key is a resource as text, which is also the name of a custom resource's definition."""

    def __init__(self, context: ControllerContext) -> None:
        self._clock = context.clock
        migrations = context.informers.informer_for(Migration)
        self._cached = migrations.indexer
        self._server = context.client.resource(Migration)
        self._definitions = context.client.resource(V1CustomResourceDefinition)
        self.controller = Controller(_NAME, self.sync, consistent=True, clock=self._clock)
        self.controller.watch_mapped(migrations, lambda one: (str(resource_of(one)),))

    async def sync(self, key: str) -> None:
        """
        Say of the migrations of a resource that they have ended, and of the next one that it runs.

        :raises ClientError: if the server refuses a request
        """
        ended, following = turn_of(one for one in self._cached.list() if str(resource_of(one)) == key)
        for one in ended:
            await self._finish(one)
        if following is not None:
            await self._begin(following)

    async def _begin(self, migration: Migration) -> None:
        found = await self._definition(migration)
        if found is not None:
            if not await self._is_current(migration):
                return
            text = f"Migration {migration.metadata.name} is running"
            await self._patch(found, self._condition(found, "True", "MigrationRunning", text))
        now = self._clock.now()
        await self._server.update_status(
            with_outcome(migration, RUNNING, "MigrationRunning", "The migration is running", now)
        )

    async def _finish(self, migration: Migration) -> None:
        conditions = conditions_of(migration)
        found = await self._definition(migration)
        if found is not None:
            if not await self._is_current(migration):
                return
            await self._release(found, is_condition_true(conditions, SUCCEEDED))
        ended = set_condition(
            conditions,
            RUNNING,
            False,
            reason="MigrationCompleted",
            message="Migration completed",
            observed_generation=migration.metadata.generation,
            now=self._clock.now(),
        )
        await self._server.update_status(with_status(migration, ended))

    async def _release(self, found: V1CustomResourceDefinition, has_succeeded: bool) -> None:
        before = get_condition(found.status.conditions if found.status is not None else None, _MIGRATING)
        if before is not None and before.status == "False":
            return  # this was done before, and the write of the migration's status has failed
        if not has_succeeded:
            # Objects may still be stored in the old versions, so these stay in the list.
            await self._patch(found, self._condition(found, "False", "MigrationFailed", "The migration has failed"))
            return
        text, stored = "The migration has succeeded", {}
        if before is not None and before.observed_generation == found.metadata.generation:
            text += " and the stored versions have been updated"
            stored = {"storedVersions": [one.name for one in found.spec.versions if one.storage]}
        else:
            text += " but the stored versions have not been updated due to a generation mismatch"
        await self._patch(found, self._condition(found, "False", "MigrationSucceeded", text) | stored)

    async def _is_current(self, migration: Migration) -> bool:
        """Whether the server has this version of a migration. If not, there will be an event for it."""
        meta = migration.metadata
        found = (await self._server.list(field_selector=f"metadata.name={meta.name}")).items
        return [one.metadata.resource_version for one in found] == [meta.resource_version]

    async def _definition(self, migration: Migration) -> V1CustomResourceDefinition | None:
        """The definition of the resource, if it is a custom one. The group of a custom resource has a dot."""
        resource = resource_of(migration)
        if "." not in resource.group:
            return None
        try:
            return await self._definitions.get(str(resource))
        except NotFound:
            return None

    def _condition(self, found: V1CustomResourceDefinition, status: str, reason: str, message: str) -> dict[str, Any]:
        condition = V1CustomResourceDefinitionCondition(
            type=_MIGRATING,
            status=status,
            reason=reason,
            message=message,
            observed_generation=found.metadata.generation,
            last_transition_time=self._clock.now().replace(microsecond=0),
        )
        conditions = replace_condition(found.status.conditions if found.status is not None else None, condition)
        return {"conditions": [to_dict(one) for one in conditions]}

    async def _patch(self, found: V1CustomResourceDefinition, status: dict[str, Any]) -> None:
        """Change a part of the status. A definition that has changed since it was read is a conflict."""
        meta = found.metadata
        body = {"metadata": {"resourceVersion": meta.resource_version}, "status": status}
        await self._definitions.patch(
            meta.name, body, patch_type=PatchType.MERGE, subresource="status", field_manager=_NAME
        )
