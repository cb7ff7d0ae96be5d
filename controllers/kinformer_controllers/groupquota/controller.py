"""The controller: recounts all GroupQuotas periodically, and at once those that a change concerns.

It removes charges of objects that were never stored, and counts objects that were never charged. Reservations count as
used. Only the leader of several replicas recounts. All replicas watch the objects, so that the next leader is ready.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import anyio

from kinformer.cache import Deleted, SharedIndexInformer, deletion_handling_key
from kinformer.client import Client
from kinformer.clock import Clock, RealClock
from kinformer.informers import SharedInformerFactory
from kinformer.logs import get_logger
from kinformer.manager import Controller, SyncError, generation_changed
from kinformer.meta import GroupResource
from kinformer.models import V1Namespace
from kinformer.workqueue import until
from kinformer_controllers.groupquota.accessor import GroupQuotaAccessor, Namespaces
from kinformer_controllers.groupquota.changes import GroupChanges, NamespaceHandler, ObjectHandler
from kinformer_controllers.groupquota.group_quota import GroupQuotaError
from kinformer_controllers.groupquota.recount import CacheBehind, GroupRecounter
from kinformer_controllers.groupquota.reservations import ReservationLedger
from kinformer_controllers.groupquota.sightings import Sightings
from kinformer_controllers.groupquota.tidying import RecordTidier, ServerObjects
from kinformer_controllers.shared.quota.monitor import QuotaMonitor
from kinformer_controllers.shared.quota.registry import Registry

__all__ = ("GroupQuotaController",)

log = get_logger(__name__)

#: The longest time in seconds before a record with reservations is tidied.
TIDY_PERIOD: Final = 5.0

# Added to the end of a reservation in seconds, so that it is certainly over.
_A_MOMENT: Final = 0.01

# Seconds until a recount is repeated for which a cache was too old.
_SECOND_LOOK: Final = 0.2

# The least number of seconds between two recounts that only give room back. A recount competes with charges: while many
# objects were deleted, a third of all writes were of recounts, and a quarter met a conflict.
_PACE: Final = 0.25

# The least number of seconds between two reads of one quota from the server, to find out whether an object was charged.
_ASK_PERIOD: Final = 0.05


@dataclass(eq=False, slots=True)
class _Term:
    """A period in which this replica leads."""

    client: Client
    recounts: Controller
    tidying: Controller
    #: The quotas that must be recounted. Others in the queue are only suspected.
    due: set[str] = field(default_factory=set)
    #: By quota: when room was last given back, or will be.
    freed: dict[str, float] = field(default_factory=dict)


# More than 15 fields: its parts share the ledger, and a recount needs all of them.
class GroupQuotaController:
    """
    Recounts GroupQuotas while this replica leads.

    :param registry: gets an evaluator for each kind that discovery finds
    :param period: seconds between two full recounts; 0 for never
    """

    def __init__(
        self,
        client: Client,
        informers: SharedInformerFactory,
        quotas: SharedIndexInformer[dict[str, Any]],
        accessor: GroupQuotaAccessor,
        namespaces: Namespaces,
        ledger: ReservationLedger,
        sightings: Sightings,
        registry: Registry,
        *,
        period: float = 300.0,
        clock: Clock | None = None,
    ) -> None:
        self._clock = clock or RealClock()
        self._accessor = accessor
        self._ledger = ledger
        self._sightings = sightings
        self._period = period
        self._informer = quotas
        self._term: _Term | None = None
        # By quota: the objects that were perhaps not charged; and when the quota was last read from the server.
        self._suspects: defaultdict[str, set[tuple[GroupResource, str, str]]] = defaultdict(set)
        self._asked: dict[str, float] = {}
        # By quota: set after its recount. The first is for recounts that have not begun, the second for running ones.
        self._doubted: dict[str, anyio.Event] = {}
        self._counting: dict[str, anyio.Event] = {}

        ledger.updated = self._enqueue
        self.changes = GroupChanges(accessor, registry, sightings, self._free, self._doubt, self._suspect)
        quotas.add_event_handler(_QuotaHandler(self))
        self._namespaces = informers.informer_for(V1Namespace)
        self._namespaces.add_event_handler(NamespaceHandler(self.changes))
        self.monitor = QuotaMonitor(
            client,
            informers,
            registry,
            lambda resource: ObjectHandler(resource, sightings, self.changes),
            resource_found=lambda _: self.recount_all(),
            # A quota for an application finds its objects by their labels.
            with_labels=True,
            clock=self._clock,
        )
        self._objects = ServerObjects(self.monitor)
        self._recounter = GroupRecounter(
            accessor, namespaces, ledger, sightings, registry, self._objects.newest_version, self._clock
        )

    @property
    def has_synced(self) -> bool:
        """Whether this replica leads and the caches for a recount have synced."""
        return self._term is not None and self._term.recounts.has_synced

    async def run(self) -> None:
        """Watch all kinds until cancelled."""
        await self.monitor.run()

    async def lead(self, client: Client) -> None:
        """
        Recount until cancelled. The caller cancels this when the replica no longer leads.

        :param client: the client to write with; it refuses writes when another replica may lead
        """
        await self.monitor.wait_synced()
        await self._informer.wait_synced()
        await self._namespaces.wait_synced()
        tidier = RecordTidier(self._accessor, self._ledger, self._sightings, self._objects, client)

        async def tidy(name: str) -> float | None:
            try:
                end = await tidier.tidy(name)
            except GroupQuotaError as error:
                raise SyncError(f"GroupQuota {name}: {error}") from error
            return None if end is None else min(max(end, 0.0) + _A_MOMENT, TIDY_PERIOD)

        term = self._term = _Term(
            client,
            Controller("groupquota", self._sync, workers=5, clock=self._clock),
            Controller("groupquota-reservations", tidy, clock=self._clock),
        )
        self._ledger.leads = True
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(term.recounts.run)
                tasks.start_soon(term.tidying.run)
                for name in self._informer.indexer.list_keys():
                    self._enqueue(name)
                    self._has_reservations(name)
                if self._period > 0:
                    await until(self._recount_all, self._period, clock=self._clock)
                await anyio.sleep_forever()
        finally:
            self._ledger.leads = False
            self._term = None
            for event in (*self._doubted.values(), *self._counting.values()):
                event.set()
            self._doubted.clear()
            self._suspects.clear()

    def recount_all(self) -> None:
        """Queue every quota for a recount."""
        for name in self._informer.indexer.list_keys():
            self._enqueue(name)

    def is_doubted(self, name: str) -> bool:
        """Whether objects may be stored that are missing in a quota's usage."""
        return name in self._doubted or name in self._counting

    async def counted(self, name: str) -> None:
        """Wait until a quota is no longer doubted, or its recount was tried."""
        while (event := self._counting.get(name) or self._doubted.get(name)) is not None:
            await event.wait()

    # --- called by event handlers; they do nothing while another replica leads

    def _enqueue(self, name: str) -> None:
        if self._term is not None:
            self._term.due.add(name)
            self._term.recounts.queue.add(name)

    def _free(self, name: str) -> None:
        """Give room back at once, or some time after the last time."""
        if self._term is None:
            return
        self._term.due.add(name)
        now, at = self._clock.monotonic(), self._term.freed.get(name, float("-inf"))
        if at <= now:
            self._term.freed[name] = at = max(now, at + _PACE)
            self._term.recounts.queue.add_after(name, at - now)

    def _doubt(self, name: str) -> None:
        self._enqueue(name)
        if self.has_synced and name not in self._doubted:
            self._doubted[name] = anyio.Event()

    def _suspect(self, name: str, resource: GroupResource, uid: str, version: str) -> None:
        if self._term is not None:
            self._suspects[name].add((resource, uid, version))
            self._term.recounts.queue.add(name)

    def _has_reservations(self, name: str) -> None:
        if self._term is not None:
            self._term.tidying.queue.add_after(name, min(TIDY_PERIOD, self._ledger.seconds + _A_MOMENT))

    # --- recounts

    async def _sync(self, name: str) -> float | None:
        """
        Recount one quota, if this is needed.

        :return: seconds until the next try, if one is needed without an event; otherwise None
        :raises SyncError: if something could not be counted, or the quota is invalid
        """
        term = self._term
        if term is None:
            return None
        if name not in term.due:
            again = await self._look_into(name)
            if name not in term.due:
                return again
        term.due.discard(name)
        # A suspicion may have come before the time at which room was to be given back.
        term.freed[name] = min(term.freed.get(name, float("-inf")), self._clock.monotonic())
        self._suspects.pop(name, None)

        def began() -> None:
            if name in self._doubted:
                self._counting[name] = self._doubted.pop(name)

        done = False
        try:
            result = await self._recounter.recount(name, term.client, began)
            done = not result.errors
        except GroupQuotaError as error:
            raise SyncError(f"GroupQuota {name}: {error}") from error
        except CacheBehind as error:
            log.debug("group_quota_not_recounted", quota=name, why=str(error))
            if name in self._counting:
                self._doubted[name] = self._counting.pop(name)
            return _SECOND_LOOK
        finally:
            if not done:
                term.due.add(name)
            if name in self._counting:
                self._counting.pop(name).set()
        if result.errors:
            raise SyncError(f"GroupQuota {name}: {'; '.join(map(str, result.errors))}")
        return None

    async def _look_into(self, name: str) -> float | None:
        """
        Find out whether a suspected quota must be recounted, because an object was not charged to it.

        :return: seconds until the server may be asked; None if it was, or need not be
        """
        if not self._uncharged(name):
            return None
        now = self._clock.monotonic()
        wait = self._asked.get(name, -_ASK_PERIOD) + _ASK_PERIOD - now
        if wait > 0:
            return wait
        self._asked[name] = now
        # The charge may be so new that the informer of quotas does not have it.
        await self._accessor.refresh(name)
        if self._uncharged(name):
            self._doubt(name)
        return None

    def _uncharged(self, name: str) -> bool:
        """Whether a suspected object was not charged. Objects that were charged are removed from the suspects."""
        self._accessor.quotas()  # this reads new charges
        suspects = {one for one in self._suspects.pop(name, ()) if not self._sightings.is_charged(name, *one)}
        if suspects:
            self._suspects[name] |= suspects
        return bool(suspects)

    async def _recount_all(self) -> None:
        self.recount_all()


class _QuotaHandler:
    """The event handler for GroupQuotas: it queues those with new limits, and those with reservations."""

    __slots__ = ("_controller",)

    def __init__(self, controller: GroupQuotaController) -> None:
        self._controller = controller

    def on_add(self, quota: dict[str, Any], is_in_initial_list: bool, /) -> None:
        self._controller._enqueue(quota["metadata"]["name"])
        self._has_malformed_status(quota)

    def on_update(self, old: dict[str, Any], new: dict[str, Any], /) -> None:
        # A charge changes only the status, and needs no recount.
        if self._has_malformed_status(new) or generation_changed(old, new):
            self._controller._enqueue(new["metadata"]["name"])

    def on_delete(self, quota: Deleted[dict[str, Any]], /) -> None:
        name = deletion_handling_key(quota)
        self._controller._enqueue(name)

    def _has_malformed_status(self, quota: Mapping[str, Any]) -> bool:
        """Take note of the reservations, and return whether they or the usage are invalid."""
        name, status = quota["metadata"]["name"], quota.get("status")
        if isinstance(status, Mapping) and status.get("reservations"):
            self._controller._has_reservations(name)
        return self._controller._accessor.take_note(name)
