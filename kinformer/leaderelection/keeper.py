"""LeaseKeeper: one try after the other to have a lease: to take it, to renew it, to give it up.

It is what a leader election and a member of a group of shards have in common; when to try, and what to do meanwhile, is
theirs. The calls and their order are client-go's: who leads writes first and reads only if that fails; who does not
reads first.

Time is counted from when something was seen here, by a clock that nobody can set; never from the times in the record.
What another wrote counts from when its answer was read. What this keeper wrote counts from *before it was sent*: an
answer that comes late, or is read late by a process that was stopped meanwhile, makes no lease longer.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf

from kinformer.client import ClientError, Conflict, NotFound
from kinformer.clock import Clock, RealClock
from kinformer.leaderelection.lock import Lock
from kinformer.leaderelection.metrics import ElectionMetrics
from kinformer.leaderelection.options import ElectionOptions
from kinformer.leaderelection.record import ElectionRecord
from kinformer.leaderelection.steady import steady_time
from kinformer.logs import get_logger

__all__ = ("LeaseKeeper", "LeaseNotRenewed")

log = get_logger(__name__)

_NOTHING = ElectionRecord()


class LeaseNotRenewed(Exception):
    """This process takes itself for the leader, and has not renewed its lease for too long."""


class LeaseKeeper:
    """
    One candidate for one lease.

    :param name: what metrics and errors call the lease
    :param waits_out_deleted: leave a Lease that somebody deleted alone for as long as its holder may still write. False
        is client-go's way: to make a new one at once, and to lead beside the old leader until that one looks again
    :raises ValueError: if the lock has no identity
    """

    def __init__(
        self,
        lock: Lock,
        options: ElectionOptions | None = None,
        *,
        name: str = "",
        clock: Clock | None = None,
        waits_out_deleted: bool = True,
    ) -> None:
        if not lock.identity:
            raise ValueError(f"the candidate for {lock.describe()} has no identity")
        self.lock = lock
        self.options = options or ElectionOptions()
        self.name = name or lock.describe()
        #: The record that was seen, or written, last.
        self.observed: ElectionRecord = _NOTHING
        self.metrics = ElectionMetrics(self.name)
        self._clock = clock or RealClock()
        self._now = steady_time(self._clock)
        self._waits_out_deleted = waits_out_deleted
        self._observed_at = -inf
        self._read: ElectionRecord | None = None
        self._renewed_at = -inf
        self._lock_name = lock.describe()

    # --- what is known

    @property
    def leader(self) -> str:
        """Who held the lease when it was last looked at; ``""`` for nobody, or if it was not looked at yet."""
        return self.observed.holder_identity

    @property
    def is_leader(self) -> bool:
        """Whether that was this candidate. It may have lost the lease since: see :attr:`held_for`."""
        return self.observed.holder_identity == self.lock.identity

    @property
    def preferred_holder(self) -> str:
        """Who is to have the lease next in a coordinated election; ``""`` if it is to stay where it is."""
        return self.observed.preferred_holder

    @property
    def held_for(self) -> float:
        """For how many more seconds nobody else can take the lease; 0 or less if somebody may have."""
        return self._renewed_at + self.options.lease_seconds - self._now() if self.is_leader else -inf

    @property
    def write_until(self) -> float:
        """The time, by :attr:`now`, until which its holder may write."""
        return self._renewed_at + self.options.write_duration

    def now(self) -> float:
        """The time by which the lease is held."""
        return self._now()

    def check(self, tolerated: float = 0.0) -> None:
        """
        See to it that a leader has renewed its lease.

        :param tolerated: seconds after the end of the lease that are let pass
        :raises LeaseNotRenewed: if it ran out longer ago than that
        """
        if self.is_leader and self._now() - self._observed_at > self.options.lease_duration + tolerated:
            raise LeaseNotRenewed(f"failed election to renew leadership on lease {self.name}")

    # --- what is done about it

    async def try_acquire_or_renew(self) -> bool:
        """Take the lease if it is free, or renew it; whether that went well. What went wrong is logged."""
        began, now = self._now(), self._clock.now()
        mine = ElectionRecord(self.lock.identity, self.options.lease_seconds, now, now)

        if self.is_leader and self._is_valid(began):
            # Nobody else can have it: what was seen last is most likely still there.
            # As in client-go, a Lease that has to be made anew, or taken back, goes on from there.
            mine = self._renewal(mine, self.observed)
            if await self._write(mine, began):
                return True
            log.debug("lease_not_renewed_at_once", lease=self._lock_name)

        try:
            found = await self.lock.get()
        except NotFound:
            return await self._create(mine, began)
        except ClientError as error:
            log.error("lease_not_read", lease=self._lock_name, error=str(error))
            return False
        self._saw(found)
        if found.holder_identity and self._is_valid(began) and not self.is_leader:
            log.debug("lease_held_by_another", lease=self._lock_name, holder=found.holder_identity)
            return False

        if self.is_leader:
            self.metrics.slow_path.inc()
            wanted = self._renewal(mine, found)
        else:
            wanted = replace(mine, leader_transitions=found.leader_transitions + 1)
        return await self._write(wanted, began, tell=True)

    async def try_coordinated_renew(self) -> bool:
        """
        Renew the lease if the control plane has given it to this candidate; whether that went well.

        It is neither made nor taken here. When the record names another as the one who is to have it next, it is not
        renewed any more (:attr:`preferred_holder`).
        """
        began, now = self._now(), self._clock.now()
        try:
            found = await self.lock.get()
        except NotFound:
            log.debug("lease_not_there", lease=self._lock_name)
            return False
        except ClientError as error:
            log.error("lease_not_read", lease=self._lock_name, error=str(error))
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
        Give the lease up, if this candidate took it and it is still its own; whether it is not any more.

        Whose it is, is what was read just now: another's record is left as it is, whatever was seen before.
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
            if not self.is_leader:
                return True
            if found.holder_identity != self.lock.identity:
                self._saw(found)
                return True
            now = self._clock.now()
            # One second: who finds it so does not wait, and one without holder is free at once in any case.
            released = ElectionRecord("", 1, now, now, found.leader_transitions)
            try:
                await self.lock.update(released)
            except Conflict:
                continue  # perhaps a renewal that was under way; look again whose it is
            except ClientError as error:
                log.error("lease_not_released", lease=self._lock_name, error=str(error))
                return False
            self._observe(released, self._now())
            return True

    def _renewal(self, mine: ElectionRecord, held: ElectionRecord) -> ElectionRecord:
        return replace(mine, acquire_time=held.acquire_time, leader_transitions=held.leader_transitions)

    async def _create(self, record: ElectionRecord, began: float) -> bool:
        if self._waits_out_deleted and self.leader and not self.is_leader and self._is_valid(began):
            log.warning("lease_deleted", lease=self._lock_name, holder=self.leader)
            return False
        try:
            await self.lock.create(record)
        except ClientError as error:
            log.error("lease_not_created", lease=self._lock_name, error=str(error))
            return False
        self._wrote(record, began)
        return True

    async def _write(self, record: ElectionRecord, began: float, *, tell: bool = False) -> bool:
        try:
            await self.lock.update(record)
        except ClientError as error:
            (log.error if tell else log.debug)("lease_not_updated", lease=self._lock_name, error=str(error))
            return False
        self._wrote(record, began)
        return True

    def _is_valid(self, now: float) -> bool:
        """Whether what was seen last is a lease that has not run out."""
        return self._observed_at + self.observed.lease_duration_seconds > now

    def _saw(self, record: ElectionRecord) -> None:
        # Compared with what was *read* before: a record that stays the same is not renewed by being read again.
        if record != self._read:
            self._read = record
            self._observe(record, self._now())

    def _wrote(self, record: ElectionRecord, began: float) -> None:
        self._renewed_at = began
        self._observe(record, began)

    def _observe(self, record: ElectionRecord, at: float) -> None:
        self.observed = record
        self._observed_at = at
