"""LeaderElector: of several processes that are ready to do the same work, one does it.

::

    lock = LeaseLock(client, "kube-system", "my-controllers", identity=new_identity())
    elector = LeaderElector(LeaseKeeper(lock), release_on_cancel=True)
    working = guarded_client(client, elector.guard)
    await elector.run(lambda: work(working))  # waits for the lease, works, and raises LeadershipLost if it is lost

The way of a term: the lease is taken, the guard opens, the work begins. Each renewal keeps the guard open for a while
longer. When the lease cannot be renewed in time, the guard closes first, then the work is cancelled. When the elector
itself is cancelled, the work is, and the lease is renewed until the work has ended; only then is it given up.
"""

from __future__ import annotations

import random as _random
import socket
import uuid
from collections.abc import Awaitable, Callable

import anyio

from kinformer.cache.tasks import plain_task_group
from kinformer.clock import Clock, RealClock
from kinformer.leaderelection.guard import Guard
from kinformer.leaderelection.keeper import LeaseKeeper
from kinformer.leaderelection.options import JITTER_FACTOR
from kinformer.logs import get_logger

__all__ = ("LeaderElector", "LeadershipLost", "new_identity")

log = get_logger(__name__)


class LeadershipLost(Exception):
    """
    This process led, and does so no more: what needs the lease has been cancelled.

    :param lease: the lease
    :param holder: who holds it now, where that is known
    """

    def __init__(self, lease: str, why: str, holder: str = "") -> None:
        super().__init__(f"lost the lease {lease}: {f'{holder} holds it now' if holder else why}")
        self.lease = lease
        self.holder = holder


def new_identity() -> str:
    """A name for this candidate that no other has, nor this machine's next one: its host and something random."""
    return f"{socket.gethostname()}_{uuid.uuid4()}"


class LeaderElector:
    """
    One candidate, which leads once at most.

    :param keeper: the lease that it wants
    :param release_on_cancel: give the lease up at the end, so that the next one need not wait until it runs out
    :param coordinated: hold the lease only when, and for as long as, the control plane gives it to this candidate. Its
        :class:`~kinformer.leaderelection.LeaseCandidate` has to be there. Off by default in Kubernetes 1.36
    :param on_new_leader: told of each leader that is seen, this one included; must not block
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
        """Whether this candidate held the lease when it last looked."""
        return self.keeper.is_leader

    @property
    def leader(self) -> str:
        """Who held the lease when this candidate last looked."""
        return self.keeper.leader

    async def run(self, lead: Callable[[], Awaitable[object]]) -> None:
        """
        Wait for the lease, and do the work for as long as it is held: until the work ends, the lease is lost, or this
        is cancelled.

        :param lead: the work; it is cancelled when the lease is lost
        :raises LeadershipLost: once the work has ended, if that was for want of the lease
        :raises RuntimeError: if it has run already
        """
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
        while True:
            acquired = await self._try(self._options.renew_deadline)
            self._report()
            # An answer that took so long that the lease may be over is none.
            if acquired and self.guard.is_open:
                break
            wait = self._options.retry_period
            await self._clock.sleep(wait + self._random() * JITTER_FACTOR * wait)
        self.keeper.lock.record_event("became leader")
        self.keeper.metrics.leading.set(1)
        log.info("lease_acquired", lease=self._lease)

    # --- while

    async def _hold(self, lead: Callable[[], Awaitable[object]]) -> None:
        # Shielded: whoever cancels the elector ends the work, which may take its time, and not the renewals.
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
                    renewing.cancel()
        finally:
            self.guard.close()
            self.keeper.lock.record_event("stopped leading")
            if self._release_on_cancel:
                await self._release()
        if lost is not None:
            raise lost

    async def _renew(self) -> str:
        """Renew until it cannot be renewed any more, and say why."""
        while True:
            await self._clock.sleep(min(self._options.retry_period, max(self.keeper.held_for, 0.0)))
            # Nor longer than the lease itself lasts, however slow the last renewal was.
            limit = min(self._options.renew_deadline, self.keeper.held_for)
            if limit <= 0:
                return "it ran out before it was renewed"
            renewed = await self._within(limit, self._until_renewed)
            self._report()
            if not renewed and self._is_to_make_room:
                return f"{self.keeper.preferred_holder} is to hold it"
            if not renewed:
                return f"it was not renewed within {limit:.3g} s"
            if self.keeper.held_for <= 0:
                return "it was renewed too late"
            log.debug("lease_renewed", lease=self._lease)

    async def _until_renewed(self) -> bool:
        while not await self._try(self._options.renew_deadline):
            if not self.is_leader or self._is_to_make_room:
                return False  # another has it, or is to: to try again would be to take it back
            await self._clock.sleep(self._options.retry_period)
        return True

    @property
    def _is_to_make_room(self) -> bool:
        # client-go goes on for as long as it could renew, and only then ends.
        return self._coordinated and bool(self.keeper.preferred_holder)

    # --- after

    async def _release(self) -> None:
        with anyio.CancelScope(shield=True):
            if await self._within(self._options.renew_deadline, self.keeper.try_release):
                log.info("lease_released", lease=self._lease)
        self._report()

    # --- common

    async def _try(self, seconds: float) -> bool:
        """One try, which opens the guard if it goes well: from when it was sent, for as long as may be written."""
        if not await self._within(seconds, self._try_once):
            return False
        self.guard.open_until(self.keeper.write_until)
        return True

    async def _within(self, seconds: float, call: Callable[[], Awaitable[bool]]) -> bool:
        """What a call answers, False if it takes longer than so many seconds."""
        with anyio.CancelScope() as scope:
            timer = self._clock.call_later(seconds, scope.cancel)
            try:
                return await call()
            finally:
                timer.cancel()
        return False

    def _report(self) -> None:
        leader = self.leader
        if leader == self._reported:
            return
        self._reported = leader
        log.info("new_leader", lease=self._lease, leader=leader)
        if self._on_new_leader is not None:
            try:
                self._on_new_leader(leader)
            except Exception:
                log.exception("on_new_leader_failed", lease=self._lease)
