"""LeaseKeeper: acquires, renews and releases one lease, one try at a time.

Leader elections and members of a group of shards both use it. They decide when to try, and what to do in between. The
requests and their order are client-go's: a leader writes first, and reads only if that fails. Other candidates read
first.

Times are measured here, by a clock that cannot be set, and never taken from the record. The lease of another holder
counts from when its record was read. The lease of this keeper counts from *before the write was sent*. So a response
that comes late, or that a stopped process reads late, does not make the lease longer.

A release is a record without holder, with a duration of one second, and with the same time as both its times: that is
what client-go and this keeper write. Any other record without holder was edited by hand, and its last holder goes on
until it notices. So does the holder of a Lease that was deleted, or that somebody gave a shorter duration. It may have
renewed right before the edit, so its full duration is waited for from when the edit was seen.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from math import inf
from typing import Final

from prometheus_client import Counter, Gauge

from kinformer.arguments import want
from kinformer.client import ApiError, ClientError, Conflict, NotFound
from kinformer.clock import Clock, RealClock
from kinformer.cluster import in_cluster
from kinformer.leaderelection.lock import Lock
from kinformer.leaderelection.options import ElectionOptions
from kinformer.leaderelection.record import ElectionRecord
from kinformer.logs import get_logger

__all__ = ("LeaseKeeper", "LeaseNotRenewed", "steady_time")

log = get_logger(__name__)

_NOTHING = ElectionRecord()

#: The most seconds that an edited Lease is left alone for, unless this candidate's own Lease would last longer.
_LONGEST_WAIT: Final = 60

_MASTER: Final = Gauge(
    "leader_election_master_status",
    "Whether this process holds the lease: 1 if it leads, 0 if it waits",
    ("name",),
)
_SLOW_PATH: Final = Counter(
    "leader_election_slowpath_total",
    "Renewals for which the lease had to be read first",
    ("name",),
)


class LeaseNotRenewed(Exception):
    """This process considers itself the leader, and has not renewed its lease for too long."""


class LeaseKeeper:
    """
    One candidate for one lease.

    :param name: the lease's name in metrics and errors
    :param waits_out_edits: if somebody has deleted the Lease, or cleared its holder, do not take it while its holder
        may still write. False does as client-go: it is taken at once, and there are two leaders until the old one tries
        to renew
    :raises ValueError: if the lock has no identity
    """

    def __init__(
        self,
        lock: Lock,
        options: ElectionOptions | None = None,
        *,
        name: str = "",
        clock: Clock | None = None,
        waits_out_edits: bool = True,
    ) -> None:
        want(lock, hasattr(lock, "identity"), "the lock of a keeper", "LeaseLock(client, namespace, name, identity)")
        want(options, options is None or isinstance(options, ElectionOptions), "options", "ElectionOptions(…), or None")
        if not lock.identity:
            raise ValueError(f"the candidate for {lock.describe()} has no identity")
        self.lock = lock
        self.options = options or ElectionOptions()
        self.name = name or lock.describe()
        #: The record that was last read or written.
        self.observed: ElectionRecord = _NOTHING
        #: Why the last try to read or write it failed; empty if it did not.
        self.failure = ""
        self.metrics = _ElectionMetrics(self.name)
        self._clock = clock or RealClock()
        self._now = steady_time(self._clock)
        self._waits_out_edits = waits_out_edits
        #: The time until which a holder that the Lease does not name any more may still write, without a release.
        self._edited_until = -inf
        self._is_gone = False
        self._observed_at = -inf
        self._read: ElectionRecord | None = None
        self._renewed_at = -inf
        self._unanswered = False

    # --- what is known

    @property
    def leader(self) -> str:
        """The holder of the lease when it was last read or written; ``""`` if it had none, or was not read yet."""
        return self.observed.holder_identity

    @property
    def is_leader(self) -> bool:
        """Whether this candidate is that holder. It may have lost the lease since: see :attr:`held_for`."""
        return self.observed.holder_identity == self.lock.identity

    @property
    def may_hold(self) -> bool:
        """Whether the server may name this candidate as the holder: it does, or a write of that had no answer."""
        return self.is_leader or self._unanswered

    @property
    def preferred_holder(self) -> str:
        """The next holder in a coordinated election; ``""`` if the holder is not to change."""
        return self.observed.preferred_holder

    @property
    def held_for(self) -> float:
        """Seconds for which no other candidate can take the lease; 0 or less if one may have taken it."""
        return self._renewed_at + self.options.lease_seconds - self._now() if self.is_leader else -inf

    @property
    def write_until(self) -> float:
        """The time, by :meth:`now`, until which the holder may write."""
        return self._renewed_at + self.options.write_duration

    @property
    def _lock_name(self) -> str:
        return self.lock.describe()

    def now(self) -> float:
        """The time in seconds by which leases are measured here."""
        return self._now()

    def check(self, tolerated: float = 0.0) -> None:
        """
        Check that this process, if it is leader, has renewed its lease.

        :param tolerated: seconds after the end of the lease that are tolerated
        :raises LeaseNotRenewed: if it expired longer ago than that
        """
        if self.is_leader and self._now() - self._observed_at > self.options.lease_duration + tolerated:
            raise LeaseNotRenewed(f"failed election to renew leadership on lease {self.name}")

    # --- what is done about it

    async def try_acquire_or_renew(self) -> bool:
        """Acquire the lease if it is free, or renew it. Return whether that succeeded. Errors are logged."""
        began, now = self._now(), self._clock.now()
        mine = ElectionRecord(self.lock.identity, self.options.lease_seconds, now, now)

        if self.is_leader and self._is_valid(began):
            # No other candidate can have it, so the record that was last seen is most likely still there.
            # As in client-go, a Lease that must be created again, or taken back, continues from that record.
            mine = self._renewal(mine, self.observed)
            if await self._write(mine, began):
                return True
            log.debug("lease_not_renewed_at_once", lease=self._lock_name)

        try:
            found = await self.lock.get()
        except NotFound:
            return await self._create(mine, began)
        except ClientError as error:
            self.failure = str(error)
            log.error("lease_not_read", lease=self._lock_name, error=self.failure)
            return False
        self._saw(found)
        if not self.is_leader and found.holder_identity and self._is_valid(began):
            log.debug("lease_held_by_another", lease=self._lock_name, holder=found.holder_identity)
            return False
        if not self.is_leader and self._now() < self._edited_until:
            log.debug("lease_edited", lease=self._lock_name)
            return False

        if self.is_leader:
            self.metrics.slow_path.inc()
            wanted = self._renewal(mine, found)
        else:
            wanted = replace(mine, leader_transitions=found.leader_transitions + 1)
        return await self._write(wanted, began, tell=True)

    async def try_coordinated_renew(self) -> bool:
        """
        Renew the lease if the control plane has given it to this candidate. Return whether that succeeded.

        The lease is neither created nor taken here. If the record names another candidate as the next holder, it is not
        renewed any more (:attr:`preferred_holder`).
        """
        began, now = self._now(), self._clock.now()
        try:
            found = await self.lock.get()
        except NotFound:
            log.debug("lease_not_there", lease=self._lock_name)
            return False
        except ClientError as error:
            self.failure = str(error)
            log.error("lease_not_read", lease=self._lock_name, error=self.failure)
            return False
        self._saw(found)
        if self._observed_at + found.lease_duration_seconds < began:
            log.info("lease_ran_out", lease=self._lock_name, holder=found.holder_identity)
            return False
        if not self.is_leader:
            log.debug("lease_held_by_another", lease=self._lock_name, holder=found.holder_identity)
            return False
        if found.preferred_holder:
            log.info("lease_to_be_given_up", lease=self._lock_name, preferred=found.preferred_holder)
            return False
        self.metrics.slow_path.inc()
        mine = ElectionRecord(self.lock.identity, self.options.lease_seconds, now, now, strategy=found.strategy)
        return await self._write(self._renewal(mine, found), began, tell=True)

    async def try_release(self) -> bool:
        """
        Release the lease if this candidate holds it. Return whether this candidate does not hold it any more.

        The record is read again first. The record of another holder is left unchanged.
        """
        while True:
            try:
                found = await self.lock.get()
            except NotFound:
                log.info("lease_to_release_is_gone", lease=self._lock_name)
                return False
            except ClientError as error:
                log.error("lease_not_read", lease=self._lock_name, error=str(error))
                return False
            if not self.may_hold:
                return True
            if found.holder_identity != self.lock.identity:
                self._saw(found)
                return True
            now = self._clock.now()
            # One second, so that no candidate waits for it. A lease without a holder is free at once in any case.
            released = ElectionRecord("", 1, now, now, found.leader_transitions)
            try:
                await self.lock.update(released)
            except Conflict:
                continue  # perhaps by a renewal that was on its way: read the holder again
            except ClientError as error:
                log.error("lease_not_released", lease=self._lock_name, error=str(error))
                return False
            self._observe(released, self._now())
            return True

    def _renewal(self, mine: ElectionRecord, held: ElectionRecord) -> ElectionRecord:
        return replace(mine, acquire_time=held.acquire_time, leader_transitions=held.leader_transitions)

    async def _create(self, record: ElectionRecord, began: float) -> bool:
        if not self._is_gone:
            self._is_gone = True
            self._note_edit(self.observed, self._now())
        if not self.is_leader and self._now() < self._edited_until:
            log.warning("lease_deleted", lease=self._lock_name, holder=self.leader)
            return False
        return await self._sent(self.lock.create(record), "lease_not_created", record, began)

    async def _write(self, record: ElectionRecord, began: float, *, tell: bool = False) -> bool:
        return await self._sent(self.lock.update(record), "lease_not_updated", record, began, tell=tell)

    async def _sent(
        self, write: Awaitable[object], failure: str, record: ElectionRecord, began: float, *, tell: bool = True
    ) -> bool:
        self._unanswered = True  # and stays so if this is cancelled, or the connection is lost
        try:
            await write
        except ClientError as error:
            if isinstance(error, ApiError):
                self._unanswered = False
            self.failure = str(error)
            (log.error if tell else log.debug)(failure, lease=self._lock_name, error=self.failure)
            return False
        self._wrote(record, began)
        return True

    def _is_valid(self, now: float) -> bool:
        """Whether the record that was last seen is a lease that has not expired."""
        return self._observed_at + self.observed.lease_duration_seconds > now

    def _saw(self, record: ElectionRecord) -> None:
        # Compared with the record that was last *read*: reading the same record again does not renew it.
        self._is_gone = self._unanswered = False
        if record != self._read:
            before, now = self.observed, self._now()
            self._read = record
            if _is_release(record):
                self._edited_until = -inf
            elif not record.holder_identity or record.lease_duration_seconds < before.lease_duration_seconds:
                # A process that has not seen the holder waits for as long as the record says.
                self._note_edit(before if before.holder_identity else record, now)
            self._observe(record, now)

    def _note_edit(self, held: ElectionRecord, now: float) -> None:
        """Note that the Lease does not say any more what it said, and that its holder may not know it yet."""
        if not self._waits_out_edits or held.renew_time is None or held.holder_identity == self.lock.identity:
            return
        longest = max(self.options.lease_seconds, _LONGEST_WAIT)
        self._edited_until = max(self._edited_until, now + min(held.lease_duration_seconds, longest))

    def _wrote(self, record: ElectionRecord, began: float) -> None:
        self.failure = ""
        self._unanswered = False
        self._renewed_at = began
        self._observe(record, began)

    def _observe(self, record: ElectionRecord, at: float) -> None:
        self.observed = record
        self._observed_at = at


def _is_release(record: ElectionRecord) -> bool:
    """Whether the holder itself has given the lease up."""
    return (
        not record.holder_identity
        and record.lease_duration_seconds == 1
        and record.renew_time is not None
        and record.acquire_time == record.renew_time
    )


def steady_time(clock: Clock) -> Callable[[], float]:
    """
    A function that returns seconds that never go back. For a real clock, they include the time of suspension.

    Linux's monotonic clock stops while a machine is suspended. With it, a leader could wake up and consider its lease
    valid, hours after another process took over. ``CLOCK_BOOTTIME`` counts that time, too.
    """
    boot_time = getattr(time, "CLOCK_BOOTTIME", None)
    if not isinstance(clock, RealClock) or boot_time is None:
        return clock.monotonic
    return lambda: time.clock_gettime(boot_time)


class _ElectionMetrics:
    """The metrics of one election."""

    __slots__ = ("leading", "slow_path")

    def __init__(self, name: str) -> None:
        self.leading = _MASTER.labels(in_cluster(name))
        self.slow_path = _SLOW_PATH.labels(in_cluster(name))
        self.leading.set(0)
