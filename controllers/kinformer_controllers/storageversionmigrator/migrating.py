"""The migrator: has the server write each object of a resource anew.

In: the StorageVersionMigration that runs, with the version of its resource. Out: an empty patch of each object that is
not newer than this version, and the condition Succeeded or Failed. The server decodes an object for a patch, encodes it
in the version that it stores now, and writes it if the bytes differ. A patch names the uid and the version of its
object, so an object that somebody has changed, deleted or made again since is left alone: it needs no migration.

The version of a migration is the one that its resource has when it begins: objects that were written later need no
migration. Only resources whose objects can be listed, patched and updated are migrated.
"""

from __future__ import annotations

from typing import Final

from kinformer.client import ApiResource, Client, PatchType, Resource
from kinformer.client.errors import (
    ApiError,
    Conflict,
    InternalError,
    ServerTimeout,
    ServiceUnavailable,
    Timeout,
    TooManyRequests,
)
from kinformer.controllerutil.conditions import is_condition_true
from kinformer.logs import get_logger
from kinformer.manager import Controller, ControllerContext, SyncError
from kinformer.meta import GroupResource, is_older
from kinformer.models import PartialObjectMetadata
from kinformer_controllers.storageversionmigrator.migrations import (
    FAILED,
    RUNNING,
    SUCCEEDED,
    Migration,
    conditions_of,
    has_ended,
    is_young,
    resource_of,
    version_of,
    with_outcome,
    with_status,
)

__all__ = ("NAME", "Migrator", "ResourceVersions", "find_resource")

log = get_logger(__name__)

_NAME: Final = "resource-version-controller"
_VERBS: Final = ("update", "patch", "list")
#: No namespace can have this name. So its list is empty, and has the version of the resource.
_NOWHERE: Final = "@fake:svm_ns!"
#: The name of the controller, and of the manager of the fields in its patches, which have none.
NAME: Final = "storage-version-migrator-controller"
_WORKERS: Final = 5
#: The migration is tried again after these errors. After another one it has failed.
_PASSING: Final = (InternalError, ServerTimeout, ServiceUnavailable, Timeout, TooManyRequests)


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


def _is_comparable(version: str) -> bool:
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
            if _is_comparable(version):
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


class _Unfit(Exception):
    """Why the objects of a resource cannot be migrated."""


class Migrator:
    """Syncs the StorageVersionMigrations that have a resource version."""

    def __init__(self, context: ControllerContext) -> None:
        self._clock, self._client = context.clock, context.client
        migrations = context.informers.informer_for(Migration)
        self._cached, self._server = migrations.indexer, context.client.resource(Migration)
        self.controller = Controller(NAME, self.sync, workers=_WORKERS, clock=self._clock)
        self.controller.watch(migrations)

    async def sync(self, name: str) -> None:
        """
        Migrate the objects of a resource, and say in the status how it ended.

        :raises SyncError: if the resource does not exist, and may have been defined just now
        :raises ClientError: if a request failed, and may succeed when it is repeated
        """
        migration = self._cached.get_by_key(name)
        if migration is None or has_ended(migration) or not version_of(migration):
            return
        try:
            await self._migrate(migration)
        except _Unfit as error:
            log.error("migration_failed", migration=name, why=str(error))
            message = f"migration encountered unhandled error: {error}"
            await self._say(migration, FAILED, message)
        else:
            await self._say(migration, SUCCEEDED)

    async def _say(self, migration: Migration, type_: str, message: str = "") -> None:
        reason = f"StorageVersionMigration{type_}"
        await self._server.update_status(with_outcome(migration, type_, reason, message, self._clock.now()))

    async def _migrate(self, migration: Migration) -> None:
        wanted = resource_of(migration)
        found = await find_resource(self._client, wanted)
        if found is None:
            if is_young(migration, self._clock.now()):
                raise SyncError(f"the server does not serve {wanted}, or not yet")
            raise _Unfit("unable to obtain GVR from discovery")
        objects = self._client.resource(
            PartialObjectMetadata, found.gvr, namespaced=found.namespaced, kind=found.kind, metadata_only=True
        )
        last = version_of(migration)
        # The list is at least as new as the version: nothing that needs a migration is missing.
        async for page in objects.pages(resource_version=last, resource_version_match="NotOlderThan"):
            for one in page.items:
                version = one.metadata.resource_version or ""
                if not _is_comparable(version):
                    raise _Unfit(f"{one.metadata.name} has the resource version {version!r}: want a decimal number")
                if not is_older(last, than=version):
                    await _write_anew(objects, found, one)


async def _write_anew(objects: Resource[PartialObjectMetadata], found: ApiResource, one: PartialObjectMetadata) -> None:
    meta = one.metadata
    body = {
        "apiVersion": found.gvk.api_version,
        "kind": found.kind,
        "metadata": {"uid": meta.uid, "resourceVersion": meta.resource_version},
    }
    try:
        await objects.patch(meta.name, body, meta.namespace or "", patch_type=PatchType.APPLY, field_manager=NAME)
    except Conflict:
        log.debug("object_changed", resource=str(found.gvr.group_resource), name=meta.name)
    except _PASSING:
        raise
    except ApiError as error:
        raise _Unfit(str(error)) from error
