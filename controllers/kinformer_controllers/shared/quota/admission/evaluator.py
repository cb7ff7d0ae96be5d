"""Admission over HTTP: requests charged in batches, with optimistic locking.

Requests of one namespace would only conflict with each other. So they wait together, and one worker at a time checks
all that wait for a namespace, one after the other against the running usage, and writes each quota once for all of
them. Whoever comes while a write is under way is in the next one.

When a write meets a conflict, the quotas that it concerns are read again and those requests checked again, with whoever
has come meanwhile, after a short random pause. The pause is the shorter, the less of its time the oldest request has
left. They go on until a request's own time is nearly over. (Kubernetes gives up after three conflicts, whatever time is
left.) An accessor whose quotas others charge as well can say whose turn it is (:meth:`~.QuotaAccessor.pause`).

A refusal may rest on what a cache tells late. So it is given only by quotas that have been looked at anew, where the
accessor does that.

Whoever has gone away is not charged. If the charge is being written at that moment, its reservation is withdrawn.
"""

from __future__ import annotations

import random as _random
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field

import anyio

from kinformer.cache.tasks import plain_task_group
from kinformer.client.errors import Conflict
from kinformer.clock import Clock, RealClock
from kinformer.logs import get_logger
from kinformer.meta import GroupResource
from kinformer.workqueue import Queue, ShutDown
from kinformer_controllers.shared.quota.admission.accessor import QuotaAccessor
from kinformer_controllers.shared.quota.admission.check import (
    LimitedResource,
    QuotaRefused,
    changed,
    check_request,
)
from kinformer_controllers.shared.quota.admission.time_limit import EvaluationTimedOut, time_limit
from kinformer_controllers.shared.quota.admission.waiters import (
    NoReservations,
    NoRoom,
    Reservations,
    Waiter,
    decide,
    still_waiting,
)
from kinformer_controllers.shared.quota.counts import object_count_evaluator
from kinformer_controllers.shared.quota.evaluator import Evaluator, Request
from kinformer_controllers.shared.quota.limits import Quota
from kinformer_controllers.shared.quota.registry import IGNORED_RESOURCES, Registry

__all__ = ("QuotaEvaluator",)

log = get_logger(__name__)

#: How often writes are tried again that failed for another reason than a conflict.
RETRIES = 3
#: Seconds that a request waits at most, if it does not say.
TIMEOUT = 10.0
#: Seconds of a request's time that are left for the answer when writes are no longer tried again.
SPARE = 0.25

# Seconds until the second try, at most, and until any.
_FIRST_PAUSE, _LONGEST_PAUSE = 0.01, 0.5


class QuotaEvaluator:
    """
    Charges requests.

    :param registry: knows what objects use; a resource that it does not know is counted
    :param limited: what may only be used under a quota
    :param ignored: what no quota limits
    :param workers: batches that are checked at once
    :param timeout: seconds that a request waits at most, if it does not say
    :param batch_of: which requests are checked together; those of one namespace if not said
    :param reservations: is told of charges
    :param random: draws from [0, 1)
    """

    def __init__(
        self,
        accessor: QuotaAccessor,
        registry: Registry,
        *,
        limited: Sequence[LimitedResource] = (),
        ignored: Collection[GroupResource] = IGNORED_RESOURCES,
        workers: int = 5,
        timeout: float = TIMEOUT,
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
        self._ignored = ignored
        self._workers = workers
        self._timeout = timeout
        self._clock = clock or RealClock()
        self._random = random
        self._queue: Queue[str] = Queue("admission_quota_controller", clock=self._clock)
        self._waiting: defaultdict[str, list[Waiter]] = defaultdict(list)

    async def run(self) -> None:
        """Check what comes until cancelled."""
        try:
            async with anyio.create_task_group() as tasks:
                for _ in range(self._workers):
                    tasks.start_soon(self._work)
        finally:
            self._queue.shut_down()

    async def evaluate(self, request: Request, timeout: float | None = None) -> None:
        """
        Charge a request, or refuse it. If this is cancelled, nothing is charged, or the charge is withdrawn.

        :param timeout: seconds that it may take
        :raises QuotaRefused: if there is not enough left
        :raises UncoveredScopes: if it is in a limited scope that no quota covers
        :raises ClientError: if quotas could not be read or written, or met a conflict until the time was nearly over
        :raises ValueError: if what it uses cannot be computed
        :raises EvaluationTimedOut: if that took too long
        """
        if request.resource in self._ignored:
            return
        if not (request.has_moved or self._evaluator(request.resource).handles(request)):
            return
        seconds, now = self._timeout if timeout is None else timeout, self._clock.monotonic()
        waiter = Waiter(request, now, now + seconds)
        batch = self._batch_of(request)
        self._waiting[batch].append(waiter)
        self._queue.add(batch)
        # Not a time_limit(): a scope would be a tenth of what a request costs.
        timer = self._clock.call_later(seconds, waiter.done.set)
        decided = False
        try:
            await waiter.done.wait()
            decided = not waiter.undecided
        finally:
            timer.cancel()
            waiter.gone = True
            if not decided:
                # Also in the midst of the write: what it charges is known to be nobody's then.
                self._reservations.withdraw(waiter.holder)
        if waiter.undecided:
            raise EvaluationTimedOut
        if waiter.result is not None:
            raise waiter.result

    def _evaluator(self, resource: GroupResource) -> Evaluator:
        evaluator = self._registry.get(resource)
        if evaluator is None:
            evaluator = object_count_evaluator(resource)
            self._registry.add(evaluator)
            log.info("quota_evaluator_added", resource=str(resource))
        return evaluator

    async def _work(self) -> None:
        while True:
            try:
                batch = await self._queue.get()
            except ShutDown:
                return
            with self._queue.processing(batch):
                # Who comes from now on waits for the next turn, which this batch does not get before this one ends.
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
        Decide about all who wait.

        :param waiters: gets those who come while it goes on
        """
        tries, pause = 0, _FIRST_PAUSE
        while waiting := still_waiting(waiters):
            left = max(waiter.deadline for waiter in waiting) - self._clock.monotonic()
            try:
                with time_limit(max(left, 0.0), self._clock):
                    async with self._reservations.charging():
                        failure, turn = await self._try(batch, waiting)
            except EvaluationTimedOut:
                return  # All who wait have been told.
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
        """What is left of the time of whoever has waited longest, from 1 down to 0."""
        now = self._clock.monotonic()
        return min((waiter.left(now) for waiter in waiters), default=1.0)

    async def _try(self, batch: str, waiters: Sequence[Waiter]) -> tuple[Exception | None, float]:
        """
        Read the quotas and charge them once.

        :return: why some could not be charged, who still wait, or None; and the seconds until it is the turn of others
            who wait, or 0
        """
        try:
            quotas = await self._accessor.get(batch)
        except Exception as error:  # whatever it is: nobody goes through who could not be checked
            log.warning("quotas_not_read", batch=batch, error=str(error))
            self._refuse(waiters, error)
            return None, 0.0
        if not quotas and not self._limited:
            decide(waiters, None)
            return None, 0.0
        plan = self._plan(quotas, waiters)
        if plan.refused:
            if not await self._confirm(plan):
                return None, 0.0  # Something has changed: all are checked again, at once.
            for waiter, refusal in plan.refused:
                self._refuse([waiter], refusal)
        return await self._write(plan) or plan.full, plan.turn

    def _plan(self, quotas: Sequence[Quota], waiters: Sequence[Waiter]) -> _Plan:
        """Check all who wait, one after the other against what those before them leave."""
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
                after = check_request(running, request, self._evaluator(request.resource), self._limited)
                if request.dry_run or not (charges := changed(running, after)):
                    waiter.result = None
                    continue
                for quota in charges:
                    if quota.name not in pauses:
                        pauses[quota.name] = self._accessor.pause(quota, patience)
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
            except Exception as error:  # also one that nobody thought of: it is this request's, and no other's
                self._refuse([waiter], error)
                continue
            plan.charge(waiter, charges)
        return plan

    async def _confirm(self, plan: _Plan) -> bool:
        """Whether quotas refuse what they do also when they are looked at anew; not looked at twice for one request."""
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
        """Write what was planned, and tell all who have been charged. Why some have not, None if all have."""
        failures: dict[str, Exception] = {}

        async def write(quota: Quota) -> None:
            try:
                await self._accessor.update(quota)
            except Exception as error:  # whatever it is: what is not written is not charged
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
    """What one try is going to write, and who has been checked for it."""

    before: Sequence[Quota]
    running: list[Quota] = field(init=False)
    charges: list[tuple[Waiter, list[str]]] = field(default_factory=list)
    refused: list[tuple[Waiter, QuotaRefused]] = field(default_factory=list)
    #: Why somebody was not charged who may be later.
    full: NoRoom | None = None
    #: Seconds until it is the turn of somebody who was not charged for that reason; 0 if there is nobody.
    turn: float = 0.0

    def __post_init__(self) -> None:
        self.running = list(self.before)

    def charge(self, waiter: Waiter, quotas: Iterable[Quota]) -> None:
        """These are what is left when this one has been charged."""
        after = {quota.name: quota for quota in quotas}
        self.running = [after.get(quota.name, quota) for quota in self.running]
        self.charges.append((waiter, list(after)))
