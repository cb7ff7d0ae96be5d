"""Admission over HTTP: requests charged in batches, with optimistic locking.

Requests of one namespace would only conflict with each other. So they wait together, and one worker at a time checks
all that wait for a namespace, one after the other against the running usage, and writes each quota once for all of
them. When a write meets a conflict, the quotas that it concerns are read again and those requests checked again, after
a short while that chance has a say in: several evaluators that charge one quota come by turns. They go on until a
request's own time is nearly over. (Kubernetes gives up after three conflicts, whatever time is left.)

Whoever has gone away is not charged. If the charge is being written at that moment, its reservation is withdrawn, so
that a recount gives it back.
"""

from __future__ import annotations

import random as _random
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence

import anyio

from kinformer.client.errors import Conflict
from kinformer.clock import Clock, RealClock
from kinformer.logs import get_logger
from kinformer.meta import GroupResource
from kinformer.workqueue import Queue, ShutDown
from kinformer_controllers.shared.quota.admission.accessor import QuotaAccessor
from kinformer_controllers.shared.quota.admission.check import (
    LimitedResource,
    changed,
    check_request,
)
from kinformer_controllers.shared.quota.admission.time_limit import EvaluationTimedOut, time_limit
from kinformer_controllers.shared.quota.admission.waiters import (
    NoReservations,
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
        seconds = self._timeout if timeout is None else timeout
        waiter = Waiter(request, self._clock.monotonic() + seconds)
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
                self._reservations.withdraw(waiter.token)
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

    async def _check(self, batch: str, waiters: Sequence[Waiter]) -> None:
        # None: all quotas. After a failure, those that could not be written; the others are charged.
        names: set[str] | None = None
        failure: Exception | None = None
        tries, pause = 0, _FIRST_PAUSE
        while waiting := still_waiting(waiters):
            left = max(waiter.deadline for waiter in waiting) - self._clock.monotonic()
            try:
                with time_limit(max(left, 0.0), self._clock):
                    async with self._reservations.charging():
                        names, failure = await self._try(batch, waiting, names, failure)
            except EvaluationTimedOut:
                return  # All who wait have been told.
            if failure is None:
                return
            tries += 1
            if tries > RETRIES and not isinstance(failure, Conflict):
                self._refuse(waiting, failure)
                return
            seconds = self._random() * pause
            pause = min(pause * 2, _LONGEST_PAUSE)
            nearly_over = self._clock.monotonic() + seconds + SPARE
            for waiter in waiting:
                if waiter.waits and waiter.deadline <= nearly_over:
                    self._refuse([waiter], failure)
                    waiter.done.set()
            if still_waiting(waiting):
                await self._clock.sleep(seconds)

    async def _try(
        self, batch: str, waiters: Sequence[Waiter], names: set[str] | None, failure: Exception | None
    ) -> tuple[set[str] | None, Exception | None]:
        """
        Read the quotas and charge them once.

        :param names: of the quotas, if not all of them
        :param failure: why the last try failed; None for the first
        :return: the names of the quotas that could not be written, and why not
        """
        try:
            quotas = await self._accessor.get(batch)
        except Exception as error:  # whatever it is: nobody goes through who could not be checked
            if failure is not None:
                log.warning("quotas_not_read", batch=batch, error=str(error))
            self._refuse(waiters, failure or error)
            return names, None
        if names is not None:
            quotas = [quota for quota in quotas if quota.name in names]
        elif not quotas and not self._limited:
            decide(waiters, None)
            return None, None
        return await self._charge(quotas, waiters)

    async def _charge(self, quotas: Sequence[Quota], waiters: Sequence[Waiter]) -> tuple[set[str], Exception | None]:
        """
        Check all who wait, and write what they use.

        :return: the names of the quotas that could not be written, and why not
        """
        running = list(quotas)
        for waiter in still_waiting(waiters):
            request = waiter.request
            try:
                after = check_request(running, request, self._evaluator(request.resource), self._limited)
            except Exception as error:  # also one that nobody thought of: it is this request's, and no other's
                self._refuse([waiter], error)
                continue
            if request.dry_run or not changed(running, after):
                waiter.result = None
                continue
            self._reservations.reserve(waiter.token, request, running, after)
            running = after
        failed: set[str] = set()
        failure: Exception | None = None
        for quota in changed(quotas, running):
            try:
                await self._accessor.update(quota)
            except Exception as error:  # whatever it is: what is not written is not charged
                failed.add(quota.name)
                failure = error
        if failure is None:
            decide(waiters, None)
        else:
            for waiter in still_waiting(waiters):
                self._reservations.withdraw(waiter.token, failed)
        return failed, failure

    def _refuse(self, waiters: Iterable[Waiter], error: Exception) -> None:
        for waiter in waiters:
            if waiter.undecided:
                waiter.result = error
                self._reservations.withdraw(waiter.token)
