"""Admission over HTTP: requests charged in batches, with optimistic locking.

Requests of one namespace would only conflict with each other. So they wait together, and one worker at a time checks
all that wait for a namespace, one after the other against the running usage, and writes each quota once for all of
them. When a write meets a conflict, the quotas that it concerns are read again and those requests checked again,
three times at most.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import anyio

from kinformer.clock import Clock, RealClock
from kinformer.logs import get_logger
from kinformer.meta import GroupResource
from kinformer.workqueue import Queue, ShutDown
from kinformer_controllers.shared.quota.admission.accessor import QuotaAccessor
from kinformer_controllers.shared.quota.admission.check import (
    LimitedResource,
    QuotaRefused,
    UncoveredScopes,
    changed,
    check_request,
)
from kinformer_controllers.shared.quota.counts import object_count_evaluator
from kinformer_controllers.shared.quota.evaluator import Evaluator, Request
from kinformer_controllers.shared.quota.limits import Quota
from kinformer_controllers.shared.quota.registry import IGNORED_RESOURCES, Registry

__all__ = ("EvaluationTimedOut", "QuotaEvaluator", "Reservations")

log = get_logger(__name__)

#: How often writes are tried again after a conflict.
RETRIES = 3
#: Seconds that a request waits at most.
TIMEOUT = 10.0


class EvaluationTimedOut(Exception):
    """A request was not checked in time, and is not let through."""


class _Undecided(Exception):
    """What a request is told that nobody has decided about: no."""


class Reservations(Protocol):
    """Is told what is charged before it is written, for who has to know what is not stored yet."""

    def reserve(self, holder: Hashable, request: Request, before: Sequence[Quota], after: Sequence[Quota]) -> None:
        """A request is about to be charged the difference."""

    def withdraw(self, holder: Hashable, quotas: Collection[str] | None = None) -> None:
        """It was not: of these quotas, or of all."""


@dataclass(eq=False, slots=True)
class _Waiter:
    request: Request
    #: Why it is refused; None if it is let through.
    result: Exception | None = field(default_factory=lambda: _Undecided("DEFAULT DENY"))
    done: anyio.Event = field(default_factory=anyio.Event)
    #: What stands for it elsewhere: who keeps that does not keep the object.
    token: object = field(default_factory=object)

    @property
    def undecided(self) -> bool:
        return isinstance(self.result, _Undecided)


class QuotaEvaluator:
    """
    Charges requests.

    :param registry: knows what objects use; a resource that it does not know is counted
    :param limited: what may only be used under a quota
    :param ignored: what no quota limits
    :param workers: batches that are checked at once
    :param batch_of: which requests are checked together; those of one namespace if not said
    :param reservations: is told of charges
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
    ) -> None:
        self._batch_of = batch_of
        self._reservations = reservations
        self._accessor = accessor
        self._registry = registry
        self._limited = limited
        self._ignored = ignored
        self._workers = workers
        self._timeout = timeout
        self._clock = clock or RealClock()
        self._queue: Queue[str] = Queue("admission_quota_controller", clock=self._clock)
        self._waiting: defaultdict[str, list[_Waiter]] = defaultdict(list)

    async def run(self) -> None:
        """Check what comes until cancelled."""
        try:
            async with anyio.create_task_group() as tasks:
                for _ in range(self._workers):
                    tasks.start_soon(self._work)
        finally:
            self._queue.shut_down()

    async def evaluate(self, request: Request) -> None:
        """
        Charge a request, or refuse it.

        :raises QuotaRefused: if there is not enough left
        :raises UncoveredScopes: if it is in a limited scope that no quota covers
        :raises ClientError: if quotas could not be read or written, or met a conflict each time
        :raises ValueError: if what it uses cannot be computed
        :raises EvaluationTimedOut: if that took too long
        """
        if request.resource in self._ignored:
            return
        if not (request.has_moved or self._evaluator(request.resource).handles(request)):
            return
        waiter = _Waiter(request)
        batch = self._batch_of(request)
        self._waiting[batch].append(waiter)
        self._queue.add(batch)
        timer = self._clock.call_later(self._timeout, waiter.done.set)
        try:
            await waiter.done.wait()
        finally:
            timer.cancel()
            waiter.done.set()  # who has gone away is not charged any more
        if waiter.undecided:
            raise EvaluationTimedOut("resource quota evaluation timed out")
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
                waiters = [one for one in self._waiting.pop(batch, ()) if not one.done.is_set()]
                try:
                    if waiters:
                        await self._check(batch, waiters)
                except Exception as error:
                    log.exception("quota_not_checked", batch=batch)
                    _decide(waiters, error)
                finally:
                    for waiter in waiters:
                        waiter.done.set()

    async def _check(self, batch: str, waiters: Sequence[_Waiter]) -> None:
        try:
            quotas = await self._accessor.get(batch)
        except Exception as error:  # whatever it is: nobody goes through who could not be checked
            _decide(waiters, error)
            return
        if not quotas and not self._limited:
            _decide(waiters, None)
            return
        for retries_left in range(RETRIES, -1, -1):
            failed, conflict = await self._charge(quotas, waiters)
            if conflict is None or not any(waiter.undecided for waiter in waiters):
                return
            if not retries_left:
                break
            try:
                # Only what could not be written; the other quotas have been charged for all who wait.
                quotas = [quota for quota in await self._accessor.get(batch) if quota.name in failed]
            except Exception as failure:  # as above
                log.warning("quotas_not_read", batch=batch, error=str(failure))
                break
        assert conflict is not None, "the loop ends early when all was written"
        for waiter in waiters:
            if waiter.undecided:
                self._refuse(waiter, conflict)

    async def _charge(self, quotas: Sequence[Quota], waiters: Sequence[_Waiter]) -> tuple[set[str], Exception | None]:
        """
        Check all who wait, and write what they use.

        :return: the names of the quotas that could not be written, and why not
        """
        running = list(quotas)
        for waiter in waiters:
            if not waiter.undecided:
                continue
            request = waiter.request
            try:
                after = check_request(running, request, self._evaluator(request.resource), self._limited)
            except (QuotaRefused, UncoveredScopes, ValueError) as error:
                self._refuse(waiter, error)
                continue
            if request.dry_run or not changed(running, after):
                waiter.result = None
                continue
            if self._reservations is not None:
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
            _decide(waiters, None)
        elif self._reservations is not None:
            for waiter in waiters:
                if waiter.undecided:
                    self._reservations.withdraw(waiter.token, failed)
        return failed, failure

    def _refuse(self, waiter: _Waiter, error: Exception) -> None:
        waiter.result = error
        if self._reservations is not None:
            self._reservations.withdraw(waiter.token)


def _decide(waiters: Sequence[_Waiter], result: Exception | None) -> None:
    """Tell this to all who have not been told otherwise."""
    for waiter in waiters:
        if waiter.undecided:
            waiter.result = result
