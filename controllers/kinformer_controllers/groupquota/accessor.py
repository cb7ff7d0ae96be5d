"""GroupQuotas as admission reads and charges them, from an informer's cache and what was written since."""

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
        # Of namespaces that the informer has not heard of yet.
        self._new: dict[str, Mapping[str, str]] = {}

    def labels(self, name: str) -> Mapping[str, str]:
        """A namespace's labels; none if nobody has heard of it."""
        found = self._informer.indexer.get_by_key(name)
        if found is not None:
            self._new.pop(name, None)
            return found.metadata.labels or {}
        return self._new.get(name, {})

    def knows(self, name: str) -> bool:
        """Whether a namespace's labels are known without asking."""
        return self._informer.indexer.get_by_key(name) is not None or name in self._new

    async def know(self, name: str) -> None:
        """
        See to it that :meth:`labels` knows a namespace.

        :raises ClientError: if the server had to be asked, and could not be
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
        """All namespaces."""
        return list({*self._informer.indexer.list_keys(), *self._new})


class InvalidQuota:
    """A GroupQuota that cannot be enforced: what it is about is refused rather than let through unlimited."""

    def __init__(self, obj: Mapping[str, Any], error: GroupQuotaError, namespaces: Namespaces) -> None:
        self.name: str = obj["metadata"]["name"]
        self.error = error
        self.is_about: Callable[[str, Any], bool]
        try:
            self.is_about = selects_of(obj, namespaces.labels)
        except GroupQuotaError:
            # It does not even say what it is about. To refuse everything would be the greater damage.
            self.is_about = lambda namespace, obj: False


class RecordLost(ClientError):
    """The server does not keep reservations: its definition of GroupQuotas is that of an older version."""

    def __init__(self, quota: str) -> None:
        super().__init__(
            f"GroupQuota {quota}: the server has stored no reservations: apply the CustomResourceDefinition of this "
            "version (kinformer's docs/controllers/quota-webhook/crd.yaml)"
        )


class GroupQuotaAccessor:
    """
    All GroupQuotas, whatever batch is asked for.

    Each write is of the version that it was reckoned from, and is refused if the quota has another one by now.

    :ivar longest_pause: short: who has met a conflict is next, and those who have won wait for it
    :ivar trouble: why the last write failed, if it is the server's fault; empty when all is well
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
        # Set when a quota has another version.
        self._changed = anyio.Event()
        self._server = client.resource(dict, GROUP_QUOTAS, namespaced=False, kind=KIND)
        self._informer = informer
        self._namespaces = namespaces
        self._ledger = ledger
        self._sightings = sightings
        self._read: dict[str, tuple[str, GroupQuota | InvalidQuota]] = {}
        self._written: dict[str, dict[str, Any]] = {}
        # Of which a write may have gone well, or not: to be looked at before they are charged again.
        self._unsure: set[str] = set()
        self.trouble = ""

    # --- for admission

    async def get(self, batch: str = "") -> Sequence[Quota]:
        """See :meth:`~kinformer_controllers.shared.quota.admission.QuotaAccessor.get`."""
        for name in list(self._unsure):
            await self.refresh(name)
        return [self._ledger.presented(quota) for quota in self.quotas()]

    async def update(self, quota: Quota) -> None:
        """Write a charge, and its reservation with it."""
        assert isinstance(quota, GroupQuota), "it was given out by get()"
        began = self._clock.monotonic()
        await self.write(replace(quota, record=self._ledger.to_write(quota)))
        self._turns.wrote(quota.name, self._clock.monotonic() - began)

    def pause(self, quota: Quota, patience: float) -> float:
        """See :meth:`~kinformer_controllers.shared.quota.admission.QuotaAccessor.pause`."""
        return self._turns.pause(quota.name, patience)

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
        """All that make sense, as new as they are known."""
        return [quota for quota in self._all() if isinstance(quota, GroupQuota)]

    def invalid(self) -> list[InvalidQuota]:
        """All that do not."""
        return [quota for quota in self._all() if isinstance(quota, InvalidQuota)]

    def newest(self, name: str) -> dict[str, Any] | None:
        """A GroupQuota as new as it is known, None if it is gone."""
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
        Ask the server for a quota. One that is gone there stays as it was until the cache says so, too.

        :raises ClientError: if it could not be asked
        """
        with suppress(NotFound):
            found, known = await self._server.get(name), self._written.get(name)
            # Not over what has been written since the server was asked.
            if known is None or _version(found) > _version(known) or _uid(found) != _uid(known):
                self._written[name] = found
        self._unsure.discard(name)

    async def read_surely(self, name: str) -> dict[str, Any] | None:
        """
        :meth:`newest`, once it is sure what has become of this replica's own writes.

        :raises ClientError: if the server had to be asked, and could not be
        """
        if name in self._unsure:
            await self.refresh(name)
        return self.newest(name)

    def presented(self, obj: dict[str, Any]) -> GroupQuota:
        """
        A quota as :meth:`get` gives it out.

        :raises GroupQuotaError: if it makes no sense
        """
        quota = self._understood(obj)
        if isinstance(quota, InvalidQuota):
            raise quota.error
        return self._ledger.presented(quota)

    async def write(self, quota: GroupQuota, server: Client | None = None) -> None:
        """
        Write a status: usage, limits and record.

        :param server: whom to write with, if not the client that charges are written with
        :raises Conflict: if it is not the newest any more that this was reckoned from
        :raises RecordLost: if the server does not keep the record
        :raises ClientError: if it cannot be written
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
            # Somebody else has written. The informer may be slow to say so, and the next try would meet it again.
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

    def take_note(self, name: str) -> None:
        """See to it that what is new in a quota's record is known since now."""
        obj = self.newest(name)
        if obj is not None:
            self._understood(obj)

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
        """Wake whoever waits for its turn."""
        self._changed.set()
        self._changed = anyio.Event()


def _version(obj: Mapping[str, Any]) -> int:
    return int(obj["metadata"]["resourceVersion"])


def _uid(obj: Mapping[str, Any]) -> str:
    return str(obj["metadata"]["uid"])
