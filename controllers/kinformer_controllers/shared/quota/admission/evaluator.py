"""Admission over HTTP: requests are charged to quotas in batches, with optimistic locking.

If each request of a namespace wrote the quotas by itself, the writes would conflict. So the requests of a namespace
wait together. One worker at a time takes all waiting requests of a namespace, checks one after the other against the
running usage, and writes each quota once for all of them. A request that comes during the write is in the next batch.

When a write meets a conflict, the worker pauses for a short random time. Then it reads the quotas again and checks the
requests again, together with those that have come since. The pause is shorter when the oldest request has less time
left. The worker repeats this until a request's time is nearly over. (Kubernetes gives up after three conflicts, even if
there is time left.) If other processes charge the same quotas, the accessor can give each its turn
(:meth:`~.QuotaAccessor.pause`).

A cache may be old, so a quota from a cache can refuse a request wrongly. Before a refusal is sent, the accessor checks
that the quota is current, if it supports this (:meth:`~.QuotaAccessor.is_current`).

A request whose caller has gone away is not charged. If its charge is being written at that moment, its reservation is
withdrawn.
"""

from __future__ import annotations

import random as _random
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import anyio

from kinformer.client.errors import Conflict
from kinformer.clock import Clock, RealClock
from kinformer.logs import get_logger
from kinformer.tasks import plain_task_group
from kinformer.workqueue import Queue, ShutDown
from kinformer_controllers.shared.quota.admission.accessor import QuotaAccessor
from kinformer_controllers.shared.quota.admission.check import (
    LimitedResource,
    QuotaRefused,
    changed,
    check_request,
)
from kinformer_controllers.shared.quota.admission.waiters import (
    EvaluationTimedOut,
    NoReservations,
    NoRoom,
    Reservations,
    Waiter,
    decide,
    still_waiting,
    time_limit,
)
from kinformer_controllers.shared.quota.evaluator import Request
from kinformer_controllers.shared.quota.limits import Quota
from kinformer_controllers.shared.quota.registry import IGNORED_RESOURCES, Registry

__all__ = ("QuotaEvaluator",)

log = get_logger(__name__)

#: How often a write is repeated that failed for another reason than a conflict.
RETRIES = 3
#: The longest time that a request waits, in seconds, if it does not say.
TIMEOUT = 10.0
#: Writes are no longer repeated when a request has only this many seconds left: the answer needs some time, too.
SPARE = 0.25

# The longest pause before the second try, and before any later one, in seconds.
_FIRST_PAUSE, _LONGEST_PAUSE = 0.01, 0.5


class QuotaEvaluator:
    """
    Charges requests.

    :param registry: the evaluators; the objects of a resource without one are counted
    :param limited: the resources that may only be used under a quota
    :param workers: the number of batches that are checked at the same time
    :param batch_of: returns the name of a request's batch; by default its namespace
    :param reservations: is called before and after charges
    :param random: returns a random number in [0, 1)
    """

    def __init__(
        self,
        accessor: QuotaAccessor,
        registry: Registry,
        *,
        limited: Sequence[LimitedResource] = (),
        workers: int = 5,
        batch_of: Callable[[Request], str] = lambda request: request.namespace,
        reservations: Reservations | None = None,
        clock: Clock | None = None,
        random: Callable[[], float] = _random.random,
    ) -> None:
        self._batch_of = batch_of
        self._reservations: Reservations = NoReservations() if reservations is None else reservations
        self._accessor = accessor
        self._registry = registry
        self._limited = limited
        self._workers = workers
        self._clock = clock or RealClock()
        self._random = random
        self._queue: Queue[str] = Queue("admission_quota_controller", clock=self._clock)
        self._waiting: defaultdict[str, list[Waiter]] = defaultdict(list)

    async def run(self) -> None:
        """Check requests until cancelled."""
        try:
            async with anyio.create_task_group() as tasks:
                for _ in range(self._workers):
                    tasks.start_soon(self._work)
        finally:
            self._queue.shut_down()

    async def evaluate(self, request: Request, timeout: float = TIMEOUT) -> None:
        """
        Charge a request, or refuse it. If this call is cancelled, nothing is charged, or the charge is withdrawn.

        :param timeout: the time that it may take, in seconds
        :raises QuotaRefused: if not enough of a quota is left
        :raises UncoveredScopes: if it has a limited scope that no quota covers
        :raises ClientError: if quotas could not be read or written, or writes met conflicts until the time was nearly
            over
        :raises ValueError: if its usage cannot be computed
        :raises EvaluationTimedOut: if it was not decided in time
        """
        if request.resource in IGNORED_RESOURCES:
            return
        if not (request.has_moved or self._registry.get_or_count(request.resource).handles(request)):
            return
        now = self._clock.monotonic()
        waiter = Waiter(request, now, now + timeout)
        batch = self._batch_of(request)
        self._waiting[batch].append(waiter)
        self._queue.add(batch)
        # Not a time_limit(): its cancel scope would be a tenth of the cost of a request.
        timer = self._clock.call_later(timeout, waiter.done.set)
        decided = False
        try:
            await waiter.done.wait()
            decided = not waiter.undecided
        finally:
            timer.cancel()
            waiter.gone = True
            if not decided:
                # This is also right while the charge is being written: it is then known to belong to no request.
                self._reservations.withdraw(waiter.holder)
        if waiter.undecided:
            raise EvaluationTimedOut
        if waiter.result is not None:
            raise waiter.result

    async def _work(self) -> None:
        while True:
            try:
                batch = await self._queue.get()
            except ShutDown:
                return
            with self._queue.processing(batch):
                # Requests that come from now on are in the next batch. It is not started before this one has ended.
                waiters = still_waiting(self._waiting.pop(batch, ()))
                try:
                    if waiters:
                        await self._check(batch, waiters)
                except Exception as error:
                    log.exception("quota_not_checked", batch=batch)
                    decide(waiters, error)
                finally:
                    for waiter in waiters:
                        waiter.done.set()

    async def _check(self, batch: str, waiters: list[Waiter]) -> None:
        """
        Decide about all waiting requests.

        :param waiters: requests that come during the retries are added to this list
        """
        tries, pause = 0, _FIRST_PAUSE
        while waiting := still_waiting(waiters):
            left = max(waiter.deadline for waiter in waiting) - self._clock.monotonic()
            try:
                with time_limit(max(left, 0.0), self._clock):
                    async with self._reservations.charging():
                        failure, turn = await self._try(batch, waiting)
            except EvaluationTimedOut:
                return  # The time of all waiting requests is over, so each has its answer.
            seconds = 0.0
            if failure is not None:
                tries += 1
                if tries > RETRIES and not isinstance(failure, Conflict | NoRoom):
                    self._refuse(waiting, failure)
                    return
                seconds = self._random() * pause * self._patience(waiting)
                longest = self._accessor.longest_pause if isinstance(failure, Conflict) else _LONGEST_PAUSE
                pause = min(pause * 2, longest)
                nearly_over = self._clock.monotonic() + seconds + SPARE
                for waiter in waiting:
                    if waiter.waits and waiter.deadline <= nearly_over:
                        self._refuse([waiter], failure)
            for waiter in waiting:
                if not waiter.undecided:
                    waiter.done.set()
            if still_waiting(waiting):
                if turn > 0 and failure is None:
                    await self._accessor.wait(turn)
                else:
                    await self._clock.sleep(seconds)
                waiters[:] = [*still_waiting(waiters), *still_waiting(self._waiting.pop(batch, ()))]

    def _patience(self, waiters: Iterable[Waiter]) -> float:
        """Return the smallest remaining fraction of a request's time: from 1 down to 0."""
        now = self._clock.monotonic()
        return min((waiter.left(now) for waiter in waiters), default=1.0)

    async def _try(self, batch: str, waiters: Sequence[Waiter]) -> tuple[Exception | None, float]:
        """
        Read the quotas and charge them once.

        :return: why some requests could not be charged and still wait, or None; and the seconds until the turn of
            others that wait, or 0
        """
        try:
            quotas = await self._accessor.get(batch)
        except Exception as error:  # of any type: a request that could not be checked is refused
            log.warning("quotas_not_read", batch=batch, error=str(error))
            self._refuse(waiters, error)
            return None, 0.0
        if not quotas and not self._limited:
            decide(waiters, None)
            return None, 0.0
        plan = self._plan(quotas, waiters)
        if plan.refused:
            if not await self._confirm(plan):
                return None, 0.0  # A quota has changed: all requests are checked again at once.
            for waiter, refusal in plan.refused:
                self._refuse([waiter], refusal)
        return await self._write(plan) or plan.full, plan.turn

    def _plan(self, quotas: Sequence[Quota], waiters: Sequence[Waiter]) -> _Plan:
        """Check all waiting requests, one after the other, each against the usage after those before it."""
        plan = _Plan(quotas)
        waiting = still_waiting(waiters)
        patience, pauses = self._patience(waiting), dict[str, float]()
        for waiter in waiting:
            request, holder = waiter.request, waiter.holder
            running = plan.running
            if holder.kept is not None:
                charged = self._reservations.is_charged
                waiter.charged.update(quota.name for quota in running if charged(holder, quota))
            if waiter.charged:
                running = [quota for quota in running if quota.name not in waiter.charged]
            try:
                evaluator = self._registry.get_or_count(request.resource)
                after = check_request(running, request, evaluator, self._limited)
                if request.dry_run or not (charges := changed(running, after)):
                    waiter.result = None
                    continue
                for quota in charges:
                    if quota.name not in pauses:
                        pauses[quota.name] = self._accessor.pause(quota, patience, len(waiting))
                if (pause := max(pauses[quota.name] for quota in charges)) > 0:
                    plan.turn = min(plan.turn or pause, pause)
                    continue
                self._reservations.reserve(holder, request, running, after)
            except QuotaRefused as refusal:
                plan.refused.append((waiter, refusal))
                continue
            except NoRoom as error:
                plan.full = error
                continue
            except Exception as error:  # of any type: it concerns this request only
                self._refuse([waiter], error)
                continue
            plan.charge(waiter, charges)
        return plan

    async def _confirm(self, plan: _Plan) -> bool:
        """Whether the quotas that refuse requests are current. For each request this is checked only once."""
        unsure = [waiter for waiter, _ in plan.refused if not waiter.is_confirmed]
        if not unsure:
            return True
        about = [
            quota
            for quota in plan.before
            if any(quota.is_about(waiter.request.namespace, waiter.request.object) for waiter in unsure)
        ]
        try:
            if await self._accessor.is_current(about):
                return True
        except Exception as error:
            self._refuse(unsure, error)
            return False
        for waiter in unsure:
            waiter.is_confirmed = True
        return False

    async def _write(self, plan: _Plan) -> Exception | None:
        """
        Write the charged quotas, and answer the requests whose quotas are written. Returns the last error or None.
        """
        failures: dict[str, Exception] = {}

        async def write(quota: Quota) -> None:
            try:
                await self._accessor.update(quota)
            except Exception as error:  # of any type: a quota that was not written was not charged
                failures[quota.name] = error

        to_write = changed(plan.before, plan.running)
        if len(to_write) == 1:
            await write(to_write[0])
        elif to_write:
            async with plain_task_group() as tasks:
                for quota in to_write:
                    tasks.start_soon(write, quota)
        for waiter, names in plan.charges:
            waiter.charged.update(name for name in names if name not in failures)
            if failures.keys().isdisjoint(names):
                decide([waiter], None)
        return next(reversed(failures.values()), None)

    def _refuse(self, waiters: Iterable[Waiter], error: Exception) -> None:
        for waiter in waiters:
            if waiter.undecided:
                waiter.result = error
                self._reservations.withdraw(waiter.holder)


@dataclass(slots=True)
class _Plan:
    """The result of checking the requests of one try: the new usage, and the requests that are charged or refused."""

    before: Sequence[Quota]
    running: list[Quota] = field(init=False)
    charges: list[tuple[Waiter, list[str]]] = field(default_factory=list)
    refused: list[tuple[Waiter, QuotaRefused]] = field(default_factory=list)
    #: The error of a request that could not be charged now and is tried again.
    full: NoRoom | None = None
    #: Seconds until the turn of a request that has to wait for its turn; 0 if there is none.
    turn: float = 0.0

    def __post_init__(self) -> None:
        self.running = list(self.before)

    def charge(self, waiter: Waiter, quotas: Iterable[Quota]) -> None:
        """Charge a request. `quotas` are those that it changes, with their new usage."""
        after = {quota.name: quota for quota in quotas}
        self.running = [after.get(quota.name, quota) for quota in self.running]
        self.charges.append((waiter, list(after)))
