"""LeaderElector: lets one of several processes do the work.

::

    lock = LeaseLock(client, "kube-system", "my-controllers", identity=new_identity())
    elector = LeaderElector(LeaseKeeper(lock), release_on_cancel=True)
    working = guarded_client(client, elector.guard)
    await elector.run(lambda: work(working))  # waits for the lease, works, and raises LeadershipLost if it is lost

A term goes like this: the lease is acquired, the guard opens, and the work begins. Each renewal keeps the guard open
for a further time. If the lease cannot be renewed in time, the guard closes first, and then the work is cancelled. If
the elector itself is cancelled, the work is cancelled. The lease is renewed until the work has ended, and only then
released. If it is not known whether the last writes were carried out, it is kept until they cannot arrive any more. A
lost lease is not released: the server cannot be reached, or the lease is another's. A cancelled write may
still be on its way, too, and nobody else may write until the lease has expired.
"""

from __future__ import annotations

import random as _random
import socket
import uuid
from collections.abc import Awaitable, Callable
from typing import Final

import anyio

from kinformer.arguments import want, want_function
from kinformer.clock import Clock, RealClock, move_on_after
from kinformer.leaderelection.guard import Guard
from kinformer.leaderelection.keeper import LeaseKeeper
from kinformer.leaderelection.options import JITTER_FACTOR
from kinformer.logs import get_logger
from kinformer.tasks import plain_task_group

__all__ = ("LeaderElector", "LeadershipLost", "new_identity")

log = get_logger(__name__)

#: Seconds that a release may take whose lease may not be held.
_PATIENCE: Final = 2.0


class LeadershipLost(Exception):
    """
    This process was the leader and is not any more. The work that needs the lease has been cancelled.

    :param lease: the lease
    :param holder: the present holder, if it is known
    """

    def __init__(self, lease: str, why: str, holder: str = "") -> None:
        super().__init__(f"lost the lease {lease}: {f'{holder} holds it now' if holder else why}")
        self.lease = lease
        self.holder = holder


def new_identity() -> str:
    """Make an identity that no other process has, now or later: the host's name and a random part."""
    return f"{socket.gethostname()}_{uuid.uuid4()}"


class LeaderElector:
    """
    One candidate, which is leader at most once.

    :param keeper: the lease to hold
    :param release_on_cancel: release the lease at the end, so that the next leader need not wait until it expires
    :param coordinated: hold the lease only while the control plane gives it to this candidate. Its
        :class:`~kinformer.leaderelection.LeaseCandidate` must exist. Off by default in Kubernetes 1.36.
    :param on_new_leader: called with the identity of each leader that is seen, including this one, and with an empty
        text when a leader has released the lease (as in client-go); it must not block
    :ivar guard: open while this candidate may write
    """

    def __init__(
        self,
        keeper: LeaseKeeper,
        *,
        release_on_cancel: bool = False,
        coordinated: bool = False,
        on_new_leader: Callable[[str], object] | None = None,
        clock: Clock | None = None,
        random: Callable[[], float] = _random.random,
    ) -> None:
        want(keeper, hasattr(keeper, "lock"), "the keeper of an elector", "LeaseKeeper(LeaseLock(…))")
        self.keeper = keeper
        self.guard = Guard(keeper.lock.describe(), keeper.now)
        self._options = keeper.options
        self._release_on_cancel = release_on_cancel
        self._coordinated = coordinated
        self._try_once = keeper.try_coordinated_renew if coordinated else keeper.try_acquire_or_renew
        self._on_new_leader = on_new_leader
        self._clock = clock or RealClock()
        self._random = random
        self._reported = ""
        self._has_run = False
        self._lease = keeper.lock.describe()

    @property
    def is_leader(self) -> bool:
        """Whether this candidate held the lease when it was last read or written."""
        return self.keeper.is_leader

    @property
    def leader(self) -> str:
        """The holder of the lease when it was last read or written."""
        return self.keeper.leader

    async def run(self, lead: Callable[[], Awaitable[object]]) -> None:
        """
        Wait for the lease, and do the work while it is held.

        It ends when the work ends, the lease is lost, or this is cancelled.

        :param lead: the work; it is cancelled when the lease is lost
        :raises LeadershipLost: if the lease was lost; raised once the work has ended
        :raises RuntimeError: if this candidate has run already
        """
        want_function(lead, 0, "the work of a leader", "an async function without arguments")
        if self._has_run:
            raise RuntimeError(f"the candidate for {self._lease} has run already: make a new one")
        self._has_run = True
        try:
            await self._acquire()
            await self._hold(lead)
        finally:
            self.guard.close()
            self.keeper.metrics.leading.set(0)

    # --- before

    async def _acquire(self) -> None:
        log.info("lease_wanted", lease=self._lease, identity=self.keeper.lock.identity)
        try:
            await self._until_acquired()
        except anyio.get_cancelled_exc_class():
            # The write that acquires it may have arrived. At Ctrl-C nobody waits for long to learn that.
            if self._release_on_cancel and self.keeper.may_hold:
                await self._release(min(self._options.renew_deadline, _PATIENCE))
            raise
        self.keeper.lock.record_event("became leader")
        self.keeper.metrics.leading.set(1)
        log.info("lease_acquired", lease=self._lease)

    async def _until_acquired(self) -> None:
        while True:
            acquired = await self._try(self._options.renew_deadline)
            self._report()
            # If the response took so long that the lease may have expired, it does not count.
            if acquired and self.guard.is_open:
                return
            wait = self._options.retry_period
            await self._clock.sleep(wait + self._random() * JITTER_FACTOR * wait)

    # --- while

    async def _hold(self, lead: Callable[[], Awaitable[object]]) -> None:
        # Shielded: a cancelled elector ends the work, which may take some time. The renewals must go on until then.
        renewing = anyio.CancelScope(shield=True)
        working = anyio.CancelScope()
        lost: LeadershipLost | None = None

        async def renew() -> None:
            nonlocal lost
            with renewing:
                why = await self._renew()
                self.guard.close()
                self.keeper.metrics.leading.set(0)
                lost = LeadershipLost(self._lease, why, "" if self.is_leader else self.leader)
                log.error("lease_lost", lease=self._lease, why=why, holder=self.leader)
                working.cancel()

        try:
            async with plain_task_group() as tasks:
                tasks.start_soon(renew, name=f"renewals of {self._lease}")
                try:
                    with working:
                        await lead()
                finally:
                    if self._release_on_cancel and lost is None:
                        await self._let_writes_arrive()
                    renewing.cancel()
        finally:
            self.guard.close()
            self.keeper.lock.record_event("stopped leading")
            if self._release_on_cancel and (lost is None or self._is_to_make_room):
                await self._release(self._options.renew_deadline)
        if lost is not None:
            raise lost

    async def _renew(self) -> str:
        """Renew until that fails, and return why."""
        while True:
            await self._clock.sleep(min(self._options.retry_period, max(self.keeper.held_for, 0.0)))
            # At most until the lease expires, however slow the last renewal was.
            limit = min(self._options.renew_deadline, self.keeper.held_for)
            if limit <= 0:
                return "it ran out before it was renewed"
            renewed = await self._within(limit, self._until_renewed)
            self._report()
            if not renewed and self._is_to_make_room:
                return f"{self.keeper.preferred_holder} is to hold it"
            if not renewed and self.leader and not self.is_leader:
                return "somebody else has taken it"
            if not renewed:
                why = f": {self.keeper.failure}" if self.keeper.failure else ""
                return f"it was not renewed within {limit:.3g} s{why}"
            if self.keeper.held_for <= 0:
                return "it was renewed too late"
            log.debug("lease_renewed", lease=self._lease)

    async def _until_renewed(self) -> bool:
        while not await self._try(self._options.renew_deadline):
            if not self.is_leader or self._is_to_make_room:
                return False  # another candidate has it, or is to have it: a further try would take it back
            await self._clock.sleep(self._options.retry_period)
        return True

    @property
    def _is_to_make_room(self) -> bool:
        # client-go goes on for as long as it could renew, and only then ends.
        return self._coordinated and bool(self.keeper.preferred_holder)

    # --- after

    async def _let_writes_arrive(self) -> None:
        """Wait until no write of unknown result can arrive any more. It gets as much time as after a lost lease."""
        left = self.guard.lost_at + self._options.lease_seconds - self._options.write_duration - self.keeper.now()
        if left > 0:
            with anyio.CancelScope(shield=True):
                await self._clock.sleep(left)

    async def _release(self, seconds: float) -> None:
        with anyio.CancelScope(shield=True):
            await self._within(seconds, self.keeper.try_release)
        self._report()

    # --- common

    async def _try(self, seconds: float) -> bool:
        """Try once. On success, open the guard for as long as writes are allowed after that request was sent."""
        if not await self._within(seconds, self._try_once):
            return False
        self.guard.open_until(self.keeper.write_until)
        return True

    async def _within(self, seconds: float, call: Callable[[], Awaitable[bool]]) -> bool:
        """The result of a call; False if it takes longer than this time."""
        with move_on_after(self._clock, seconds):
            return await call()
        return False

    def _report(self) -> None:
        leader = self.leader
        if leader == self._reported:
            return
        self._reported = leader
        if leader:
            log.info("new_leader", lease=self._lease, leader=leader)
        else:
            log.info("lease_released", lease=self._lease)
        if self._on_new_leader is not None:
            try:
                self._on_new_leader(leader)
            except Exception:
                log.exception("on_new_leader_failed", lease=self._lease)
