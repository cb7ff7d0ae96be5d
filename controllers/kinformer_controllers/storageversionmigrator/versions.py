"""The resource version of a migration: objects that were written later need no migration.

In: the StorageVersionMigration that runs. Out: the version that its resource has now, in the status. Only resources
whose objects can be listed, patched and updated are migrated.
"""

from __future__ import annotations

from typing import Final

from kinformer.client import ApiResource, Client
from kinformer.controllerutil.conditions import is_condition_true
from kinformer.manager import Controller, ControllerContext, SyncError
from kinformer.meta import GroupResource
from kinformer.models import PartialObjectMetadata
from kinformer_controllers.storageversionmigrator.migrations import (
    FAILED,
    RUNNING,
    Migration,
    conditions_of,
    has_ended,
    is_young,
    resource_of,
    version_of,
    with_outcome,
    with_status,
)

__all__ = ("ResourceVersions", "find_resource", "is_comparable")

_NAME: Final = "resource-version-controller"
_VERBS: Final = ("update", "patch", "list")
#: No namespace can have this name. So its list is empty, and has the version of the resource.
_NOWHERE: Final = "@fake:svm_ns!"


async def find_resource(client: Client, wanted: GroupResource) -> ApiResource | None:
    """
    Ask the server's discovery for a resource, at the version that its group prefers.

    :return: None if the server does not serve it
    :raises SyncError: if the discovery of the group failed
    :raises ClientError: if discovery failed
    """
    served = await client.discovery.served(refresh=True)
    found = next((one for one in served.resources if one.gvr.group_resource == wanted), None)
    if found is None and any(version.group == wanted.group for version in served.failed):
        raise SyncError(f"it is not known whether the server serves {wanted}: the discovery of its group failed")
    return found


def is_comparable(version: str) -> bool:
    """Whether a resource version can be compared with others: whether it is a decimal number."""
    return version.isascii() and version.isdecimal() and not version.startswith("0")


class ResourceVersions:
    """Syncs the StorageVersionMigrations that run."""

    def __init__(self, context: ControllerContext) -> None:
        self._clock, self._client = context.clock, context.client
        migrations = context.informers.informer_for(Migration)
        self._cached, self._server = migrations.indexer, context.client.resource(Migration)
        self.controller = Controller(_NAME, self.sync, clock=self._clock)
        self.controller.watch(migrations)

    async def sync(self, name: str) -> None:
        """
        Write the version of the resource into the status, or that the migration has failed.

        :raises SyncError: if the resource does not exist, and may have been defined just now
        :raises ClientError: if the server refuses a request
        """
        migration = self._cached.get_by_key(name)
        if migration is None or not is_condition_true(conditions_of(migration), RUNNING):
            return
        if has_ended(migration) or version_of(migration):
            return
        wanted = resource_of(migration)
        found = await find_resource(self._client, wanted)
        if found is None:
            if is_young(migration, self._clock.now()):
                raise SyncError(f"the server does not serve {wanted}, or not yet")
            await self._fail(migration, "resource does not exist in discovery")
        elif not set(_VERBS).issubset(found.verbs):
            verbs = " ".join(_VERBS)
            await self._fail(migration, f'resource "{_text(found)}" does not support discovery operations: [{verbs}]')
        else:
            version = await self._version_of(found)
            if is_comparable(version):
                await self._server.update_status(with_status(migration, version=version))
            else:
                text = f"latest resourceVersion for {_text(found)} is not valid: {version!r} is not a decimal number"
                await self._fail(migration, text)

    async def _version_of(self, found: ApiResource) -> str:
        listed = self._client.resource(
            PartialObjectMetadata, found.gvr, namespaced=found.namespaced, metadata_only=True
        )
        page = await listed.list(_NOWHERE if found.namespaced else "", limit=1)
        return page.resource_version

    async def _fail(self, migration: Migration, message: str) -> None:
        now = self._clock.now()
        await self._server.update_status(with_outcome(migration, FAILED, "StorageVersionMigrationFailed", message, now))


def _text(found: ApiResource) -> str:
    gvr = found.gvr
    return f"{gvr.group}/{gvr.version}, Resource={gvr.resource}"
