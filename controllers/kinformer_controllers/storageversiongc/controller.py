"""The garbage collector of storage versions, as kube-controller-manager has it.

Each API server has a Lease, and says in the StorageVersion of each resource in which version it writes the objects. In:
StorageVersions and those Leases. Out: the entries of API servers without a Lease are removed, and StorageVersions
without entries are deleted. Promised: the server is asked for the Lease first, whatever the cache shows; an object that
an API server writes at the same time is not changed, but looked at again.

The rule for what is left of a StorageVersion, and for the version in which the others write, is that of Kubernetes' API
servers (``k8s.io/apiserver/pkg/storageversion``), which write the same fields.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from kinformer.cache import ResourceEventHandlerFuncs, last_state
from kinformer.client import DeleteOptions, Preconditions
from kinformer.client.errors import ClientError, NotFound
from kinformer.controllerutil.conditions import replace_condition, without_condition
from kinformer.logs import get_logger
from kinformer.manager import Controller, ControllerContext, Group
from kinformer.models import (
    V1alpha1ServerStorageVersion,
    V1alpha1StorageVersion,
    V1alpha1StorageVersionCondition,
    V1alpha1StorageVersionStatus,
    V1Lease,
)
from kinformer_controllers.shared.gates import Gates
from kinformer_controllers.shared.options import GateOptions

__all__ = ("ALL_EQUAL", "StorageVersionCollector", "status_with")

log = get_logger(__name__)

ALL_EQUAL: Final = "AllEncodingVersionsEqual"


def status_with(
    found: V1alpha1StorageVersion, servers: Sequence[V1alpha1ServerStorageVersion], now: datetime
) -> V1alpha1StorageVersionStatus:
    """
    The status of an object with these entries of API servers.

    The common version is set if all servers write in one version. The condition's time changes with its status, and
    also if the servers agree on another version than before.
    """
    versions = {server.encoding_version for server in servers}
    common = versions.pop() if len(versions) == 1 else None
    word = "set" if common is not None else "unset"
    condition = V1alpha1StorageVersionCondition(
        type=ALL_EQUAL,
        status="False" if common is None else "True",
        observed_generation=found.metadata.generation,
        last_transition_time=now.replace(microsecond=0),
        reason=f"CommonEncodingVersion{word.capitalize()}",
        message=f"Common encoding version {word}",
    )
    before, conditions = found.status.common_encoding_version, found.status.conditions
    if before is not None and common is not None and before != common:
        conditions = without_condition(conditions, ALL_EQUAL)
    return V1alpha1StorageVersionStatus(
        common_encoding_version=common,
        conditions=replace_condition(conditions, condition),
        storage_versions=list(servers),
    )


#: Where the API servers have their Leases, and the label by which they are known.
_NAMESPACE: Final = "kube-system"
_LABEL: Final = ("apiserver.kubernetes.io/identity", "kube-apiserver")
_QUEUE: Final = "storage_version_garbage_collector"


class StorageVersionCollector(Group):
    """
    Syncs Leases that are gone, and StorageVersions that name an unknown API server.

    :raises ControllerDisabled: if the feature gate StorageVersionAPI or APIServerIdentity is off
    """

    def __init__(self, context: ControllerContext) -> None:
        Gates(context.read(GateOptions).feature_gates).require("APIServerIdentity", "StorageVersionAPI")
        self._clock = context.clock
        leases = context.informers.informer_for(V1Lease)
        versions = context.informers.informer_for(V1alpha1StorageVersion)
        self._leases = leases.indexer
        self._lease_server = context.client.resource(V1Lease)
        self._server = context.client.resource(V1alpha1StorageVersion)
        name = "storageversion-garbage-collector"
        self.gone = Controller(name, self.forget_server, queue_name=f"{_QUEUE}_leases", clock=self._clock)
        self.gone.handle(leases, ResourceEventHandlerFuncs(delete=self._lease_deleted))
        self.changed = Controller(
            f"{name}-versions", self.check, queue_name=f"{_QUEUE}_storageversions", clock=self._clock
        )
        self.changed.watch(versions, self._names_unknown_server).wait_for(leases)
        super().__init__(self.gone, self.changed)

    def _lease_deleted(self, lease: Any) -> None:
        lease = last_state(lease)
        if lease is not None and lease.metadata.namespace == _NAMESPACE and _is_of_server(lease):
            self.gone.queue.add(lease.metadata.name)

    def _names_unknown_server(self, old: Any, new: Any) -> bool:
        """Whether a StorageVersion has an entry of a server that has no Lease in the cache."""
        if new is None:
            return False
        leases = (self._leases.get_by_key(f"{_NAMESPACE}/{entry.api_server_id}") for entry in _entries(new))
        return any(lease is None or not _is_of_server(lease) for lease in leases)

    async def forget_server(self, name: str) -> None:
        """
        Remove the entries of an API server whose Lease was deleted.

        :param name: the name of the Lease, which is the server's id
        :raises ClientError: if the server refuses a request; the other objects are written all the same
        """
        try:
            await self._lease_server.get(name, _NAMESPACE)
        except NotFound:
            pass
        else:
            return
        failed: ClientError | None = None
        for found in (await self._server.list()).items:
            try:
                await self._keep(found, [entry for entry in _entries(found) if entry.api_server_id != name])
            except ClientError as error:
                failed = error
        if failed is not None:
            raise failed

    async def check(self, name: str) -> None:
        """
        Remove the entries of all API servers without a Lease from one StorageVersion.

        :raises ClientError: if the server refuses a request
        """
        try:
            found = await self._server.get(name)
        except NotFound:
            return
        await self._keep(found, [entry for entry in _entries(found) if await self._has_lease(entry.api_server_id)])

    async def _has_lease(self, server: str) -> bool:
        try:
            return _is_of_server(await self._lease_server.get(server, _NAMESPACE))
        except NotFound:
            return False

    async def _keep(self, found: V1alpha1StorageVersion, entries: Sequence[V1alpha1ServerStorageVersion]) -> None:
        """Leave only these entries in a StorageVersion, as it was read. Delete it if there are none."""
        meta = found.metadata
        if len(entries) == len(_entries(found)):
            return
        if not entries:
            log.info("deleting_storage_version", name=meta.name)
            same = Preconditions(uid=meta.uid, resource_version=meta.resource_version)
            try:
                await self._server.delete(meta.name, options=DeleteOptions(preconditions=same))
            except NotFound:
                return
        else:
            written = copy.copy(found)
            written.status = status_with(found, entries, self._clock.now())
            await self._server.update_status(written)


def _is_of_server(lease: V1Lease) -> bool:
    key, value = _LABEL
    return (lease.metadata.labels or {}).get(key) == value


def _entries(found: V1alpha1StorageVersion) -> Sequence[V1alpha1ServerStorageVersion]:
    return (found.status.storage_versions if found.status is not None else None) or ()
