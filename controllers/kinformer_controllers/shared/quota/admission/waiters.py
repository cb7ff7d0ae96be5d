"""Waiters: requests that wait to be checked, their time limits, and the interface that is called for their charges.

The time limit is on a clock that tests can turn.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import anyio

from kinformer.clock import Clock, move_on_after
from kinformer_controllers.shared.quota.evaluator import Request
from kinformer_controllers.shared.quota.limits import Quota

__all__ = (
    "EvaluationTimedOut",
    "Holder",
    "NoReservations",
    "NoRoom",
    "Reservations",
    "Waiter",
    "decide",
    "still_waiting",
    "time_limit",
)


class EvaluationTimedOut(Exception):
    """A request was not checked in time. It is refused."""

    def __init__(self) -> None:
        super().__init__("resource quota evaluation timed out")


@contextmanager
def time_limit(seconds: float, clock: Clock) -> Iterator[None]:
    """
    Cancel the block after that many seconds.

    :raises EvaluationTimedOut: if the block was cancelled
    """
    with move_on_after(clock, seconds) as scope:
        yield
    if scope.cancelled_caught:
        raise EvaluationTimedOut


class Undecided(Exception):
    """The answer to a request that was never decided: it is refused."""


class NoRoom(Exception):
    """A charge cannot be reserved now. It is tried again, because other reservations will end."""


class Holder:
    """
    Identifies one request to a :class:`Reservations`, which can keep it without keeping the request's object.

    :ivar kept: data of the :class:`Reservations` about this request
    """

    __slots__ = ("kept",)

    def __init__(self) -> None:
        self.kept: Any = None


class Reservations(Protocol):
    """
    Is called for each charge before it is written.

    A controller that counts objects needs this: it must know which charged objects may not be stored yet.
    """

    def charging(self) -> AbstractAsyncContextManager[None]:
        """A context that is entered before quotas are read for a charge and left after the write, failed or not."""

    def is_charged(self, holder: Holder, quota: Quota) -> bool:
        """Whether a quota was already charged for this request, by a write whose answer was lost."""

    def reserve(self, holder: Holder, request: Request, before: Sequence[Quota], after: Sequence[Quota]) -> None:
        """
        Reserve the difference, with which the request will be charged.

        :raises NoRoom: if it cannot be reserved now; then nothing is reserved
        """

    def withdraw(self, holder: Holder) -> None:
        """End the reservation: the request was not charged, or it was refused after all. It is not charged again."""


class NoReservations:
    """
    Reserves nothing.

    The controller of ResourceQuotas needs no reservations: it learns from resource versions what may not be stored yet.
    """

    @asynccontextmanager
    async def charging(self) -> AsyncIterator[None]:
        """See :meth:`Reservations.charging`."""
        yield

    def is_charged(self, holder: Holder, quota: Quota) -> bool:
        """Return False: it is not known."""
        return False

    def reserve(self, holder: Holder, request: Request, before: Sequence[Quota], after: Sequence[Quota]) -> None:
        """Do nothing."""

    def withdraw(self, holder: Holder) -> None:
        """Do nothing."""


@dataclass(eq=False, slots=True)
class Waiter:
    """
    One request that waits.

    :param came: when it began to wait, in seconds on the evaluator's monotonic clock
    :param deadline: when its time is over, on the same clock
    """

    request: Request
    came: float
    deadline: float
    #: Why it is refused; None if it is accepted.
    result: Exception | None = field(default_factory=lambda: Undecided("DEFAULT DENY"))
    done: anyio.Event = field(default_factory=anyio.Event)
    #: Whether its caller has got an answer or has gone away. Then nothing may be charged for it any more.
    gone: bool = False
    holder: Holder = field(default_factory=Holder)
    #: The names of the quotas that have been charged for it.
    charged: set[str] = field(default_factory=set)
    #: Whether the quotas that refuse it were checked to be current. The next refusal is then final.
    is_confirmed: bool = False

    def left(self, now: float) -> float:
        """Return the remaining fraction of its time: from 1 down to 0."""
        seconds = self.deadline - self.came
        return min(max((self.deadline - now) / seconds, 0.0), 1.0) if seconds > 0 else 0.0

    @property
    def undecided(self) -> bool:
        return isinstance(self.result, Undecided)

    @property
    def waits(self) -> bool:
        """Whether it is undecided and its caller still waits."""
        return self.undecided and not self.gone


def still_waiting(waiters: Iterable[Waiter]) -> list[Waiter]:
    return [waiter for waiter in waiters if waiter.waits]


def decide(waiters: Iterable[Waiter], result: Exception | None) -> None:
    """Set the result of all requests that are still undecided."""
    for waiter in waiters:
        if waiter.undecided:
            waiter.result = result
