"""Reading and charging GroupQuotas for admission, from an informer's cache and this replica's own writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import anyio

from kinformer.cache import SharedIndexInformer
from kinformer.client import Client, ClientError, Conflict, NotFound
from kinformer.clock import Clock
from kinformer.logs import get_logger
from kinformer.models import V1Namespace
from kinformer_controllers.groupquota.group_quota import (
    GROUP_QUOTAS,
    KIND,
    GroupQuota,
    GroupQuotaError,
    MalformedStatus,
    read_group_quota,
    selects_of,
)
from kinformer_controllers.groupquota.record import EMPTY
from kinformer_controllers.groupquota.reservations import ReservationLedger
from kinformer_controllers.groupquota.sightings import Sightings
from kinformer_controllers.groupquota.turns import Turns
from kinformer_controllers.shared.quota.limits import Quota, with_status

__all__ = ("GroupQuotaAccessor", "InvalidQuota", "Namespaces", "RecordLost")

log = get_logger(__name__)


class Namespaces:
    """The labels of namespaces."""

    def __init__(self, client: Client, informer: SharedIndexInformer[V1Namespace]) -> None:
        self._server = client.resource(V1Namespace)
        self._informer = informer
        # Labels of namespaces that are not in the informer's cache yet.
        self._new: dict[str, Mapping[str, str]] = {}

    def labels(self, name: str) -> Mapping[str, str]:
        """Return a namespace's labels; none if the namespace is not known."""
        found = self._informer.indexer.get_by_key(name)
        if found is not None:
            self._new.pop(name, None)
            return found.metadata.labels or {}
        return self._new.get(name, {})

    def knows(self, name: str) -> bool:
        """Whether a namespace's labels are known without a request."""
        return self._informer.indexer.get_by_key(name) is not None or name in self._new

    async def know(self, name: str) -> None:
        """
        Read a namespace from the server, if :meth:`labels` does not know it.

        :raises ClientError: if the server could not be read
        """
        if self.knows(name):
            return
        try:
            found = await self._server.get(name)
        except NotFound:
            return
        self._new[name] = found.metadata.labels or {}

    @property
    def names(self) -> list[str]:
        """The names of all known namespaces."""
        return list({*self._informer.indexer.list_keys(), *self._new})


class InvalidQuota:
    """A GroupQuota that cannot be enforced. Requests that it applies to are refused, not admitted without a limit."""

    def __init__(self, obj: Mapping[str, Any], error: GroupQuotaError, namespaces: Namespaces) -> None:
        self.name: str = obj["metadata"]["name"]
        self.error = error
        self.is_about: Callable[[str, Any], bool]
        try:
            self.is_about = selects_of(obj, namespaces.labels)
        except GroupQuotaError:
            # It is not known which objects it applies to. Refusing all requests would do more damage.
            self.is_about = lambda namespace, obj: False


class RecordLost(ClientError):
    """The server drops reservations, because its CustomResourceDefinition of GroupQuotas is an older version."""

    def __init__(self, quota: str) -> None:
        super().__init__(
            f"GroupQuota {quota}: the server has stored no reservations: apply the CustomResourceDefinition of this "
            "version (kinformer's docs/controllers/quota-webhook/crd.yaml)"
        )


class GroupQuotaAccessor:
    """
    Reads and writes GroupQuotas. Each batch of requests gets all of them.

    Each write has the version from which it was computed, and meets a conflict if the quota has changed since.

    :ivar longest_pause: it is short, because a replica that met a conflict has the next turn
    :ivar trouble: why the last write failed, if the server is the reason; empty if it succeeded
    """

    longest_pause = 0.02

    def __init__(
        self,
        client: Client,
        informer: SharedIndexInformer[dict[str, Any]],
        namespaces: Namespaces,
        ledger: ReservationLedger,
        sightings: Sightings,
        clock: Clock,
    ) -> None:
        self._clock = clock
        self._turns = Turns(ledger.prefix, clock)
        # Set when a quota has a new version.
        self._changed = anyio.Event()
        self._server = client.resource(dict, GROUP_QUOTAS, namespaced=False, kind=KIND)
        self._informer = informer
        self._namespaces = namespaces
        self._ledger = ledger
        self._sightings = sightings
        self._read: dict[str, tuple[str, GroupQuota | InvalidQuota]] = {}
        self._written: dict[str, dict[str, Any]] = {}
        # Quotas whose last write may have succeeded or failed. They are read again before the next charge.
        self._unsure: set[str] = set()
        self.trouble = ""

    # --- for admission

    async def get(self, batch: str = "") -> Sequence[Quota]:
        """See :meth:`~kinformer_controllers.shared.quota.admission.QuotaAccessor.get`."""
        for name in list(self._unsure):
            await self.refresh(name)
        return [self._ledger.presented(quota) for quota in self.quotas()]

    async def update(self, quota: Quota) -> None:
        """Write a charge together with its reservation."""
        assert isinstance(quota, GroupQuota), "it is a result of get()"
        began = self._clock.monotonic()
        await self.write(replace(quota, record=self._ledger.to_write(quota)))
        self._turns.wrote(quota.name, self._clock.monotonic() - began)

    def pause(self, quota: Quota, patience: float, waiting: int) -> float:
        """See :meth:`~kinformer_controllers.shared.quota.admission.QuotaAccessor.pause`."""
        return self._turns.pause(quota.name, patience, waiting)

    async def wait(self, seconds: float) -> None:
        """See :meth:`~kinformer_controllers.shared.quota.admission.QuotaAccessor.wait`."""
        timer = self._clock.call_later(seconds, self._notify)
        try:
            await self._changed.wait()
        finally:
            timer.cancel()

    async def is_current(self, quotas: Sequence[Quota]) -> bool:
        """See :meth:`~kinformer_controllers.shared.quota.admission.QuotaAccessor.is_current`."""
        current = True
        for quota in quotas:
            await self.refresh(quota.name)
            newest = self.newest(quota.name)
            if newest is None or newest["metadata"]["resourceVersion"] != quota.source["metadata"]["resourceVersion"]:
                current = False
        return current

    # --- for all

    def quotas(self) -> list[GroupQuota]:
        """Return all valid GroupQuotas in their newest known version."""
        return [quota for quota in self._all() if isinstance(quota, GroupQuota)]

    def invalid(self) -> list[InvalidQuota]:
        """Return all invalid GroupQuotas."""
        return [quota for quota in self._all() if isinstance(quota, InvalidQuota)]

    def newest(self, name: str) -> dict[str, Any] | None:
        """Return the newest known version of a GroupQuota; None if it is gone."""
        cached = self._informer.indexer.get_by_key(name)
        if cached is None:
            self._written.pop(name, None)
            self._read.pop(name, None)
            self._unsure.discard(name)
            self._sightings.forget(name)
            self._turns.forget(name)
            return None
        written = self._written.get(name)
        if written is None:
            return cached
        if _version(written) > _version(cached) and _uid(written) == _uid(cached):
            return written
        del self._written[name]
        return cached

    async def refresh(self, name: str) -> None:
        """
        Read a quota from the server. If it is gone there, it stays known until it is gone from the cache, too.

        :raises ClientError: if the server could not be read
        """
        with suppress(NotFound):
            found, known = await self._server.get(name), self._written.get(name)
            # A version that was written during the request is newer and must stay.
            if known is None or _version(found) > _version(known) or _uid(found) != _uid(known):
                self._written[name] = found
        self._unsure.discard(name)

    async def read_surely(self, name: str) -> dict[str, Any] | None:
        """
        Return the same as :meth:`newest`, after the result of this replica's last write is certain.

        :raises ClientError: if the server could not be read
        """
        if name in self._unsure:
            await self.refresh(name)
        return self.newest(name)

    async def countable(self, name: str) -> GroupQuota | None:
        """
        Return the same as :meth:`read_surely`, but None also while the status is invalid: a recount replaces it.

        :raises GroupQuotaError: if the quota is invalid otherwise
        :raises ClientError: if the server could not be read
        """
        obj = await self.read_surely(name)
        try:
            return self.understood(obj) if obj is not None else None
        except MalformedStatus:
            return None

    def understood(self, obj: dict[str, Any]) -> GroupQuota:
        """
        Return what is written in a quota. A version that was read before is not decoded again.

        :raises MalformedStatus: if its status is invalid
        :raises GroupQuotaError: if it is invalid
        """
        quota = self._understood(obj)
        if isinstance(quota, InvalidQuota):
            raise quota.error
        return quota

    async def write(self, quota: GroupQuota, server: Client | None = None) -> None:
        """
        Write a status: usage, limits and record.

        :param server: the client to write with, if not the one for charges
        :raises Conflict: if the quota has changed since it was read
        :raises RecordLost: if the server drops the record
        :raises ClientError: if the server refuses the write
        """
        name, resource = quota.name, self._server
        if server is not None:
            resource = server.resource(dict, GROUP_QUOTAS, namespaced=False, kind=KIND)
        body = with_status(quota.source, quota)
        body["status"] |= quota.record.json()
        self._unsure.add(name)
        try:
            written = await resource.update_status(body)
        except Conflict:
            # Another client has written the quota, and the informer may not have it yet. Without this read, the next
            # try would meet the same conflict.
            self._unsure.discard(name)
            newest = self.newest(name)
            if newest is not None and _version(newest) <= _version(quota.source):
                await self.refresh(name)
            raise
        except Exception as error:
            self.trouble = f"GroupQuota {name} could not be written: {error}"
            raise
        self._unsure.discard(name)
        self._written[name] = written
        if "reservations" not in (written.get("status") or {}):
            lost = RecordLost(name)
            self.trouble = str(lost)
            raise lost
        self.trouble = ""

    def take_note(self, name: str) -> bool:
        """
        Read a quota's record now, so that its new reservations are known from this time on.

        :return: whether its status is invalid, so that nothing can be charged before a recount
        """
        obj = self.newest(name)
        quota = self._understood(obj) if obj is not None else None
        return isinstance(quota, InvalidQuota) and isinstance(quota.error, MalformedStatus)

    def _all(self) -> list[GroupQuota | InvalidQuota]:
        return [
            self._understood(obj)
            for name in self._informer.indexer.list_keys()
            if (obj := self.newest(name)) is not None
        ]

    def _understood(self, obj: dict[str, Any]) -> GroupQuota | InvalidQuota:
        name, version = obj["metadata"]["name"], obj["metadata"]["resourceVersion"]
        known = self._read.get(name)
        if known is not None and known[0] == version:
            return known[1]
        before = known[1].record if known is not None and isinstance(known[1], GroupQuota) else EMPTY
        quota: GroupQuota | InvalidQuota
        try:
            quota = read_group_quota(obj, self._namespaces.labels, before.reservations)
        except GroupQuotaError as error:
            log.error("group_quota_invalid", quota=name, error=str(error))
            quota = InvalidQuota(obj, error, self._namespaces)
        else:
            self._sightings.know(name, before, quota.record)
            self._turns.saw(name, (id_ for id_ in quota.record.reservations if id_ not in before.reservations))
        self._notify()
        self._read[name] = version, quota
        return quota

    def _notify(self) -> None:
        """Wake all tasks that wait for their turn."""
        self._changed.set()
        self._changed = anyio.Event()


def _version(obj: Mapping[str, Any]) -> int:
    return int(obj["metadata"]["resourceVersion"])


def _uid(obj: Mapping[str, Any]) -> str:
    return str(obj["metadata"]["uid"])
