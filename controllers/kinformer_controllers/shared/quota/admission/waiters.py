"""Waiters: requests that wait to be checked, and what is told elsewhere of their charges."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import anyio

from kinformer_controllers.shared.quota.evaluator import Request
from kinformer_controllers.shared.quota.limits import Quota

__all__ = ("Holder", "NoReservations", "NoRoom", "Reservations", "Waiter", "decide", "still_waiting")


class Undecided(Exception):
    """What a request is told that nobody has decided about: no."""


class NoRoom(Exception):
    """A charge cannot be noted now, and perhaps can be when others' have ended: it is tried again."""


class Holder:
    """
    Stands for one request elsewhere: who keeps it does not keep the object.

    :ivar kept: what whoever keeps reservations notes about it
    """

    __slots__ = ("kept",)

    def __init__(self) -> None:
        self.kept: Any = None


class Reservations(Protocol):
    """Is told what is charged before it is written, for who has to know what is not stored yet."""

    def charging(self) -> AbstractAsyncContextManager[None]:
        """Entered before quotas are read for a charge, and left when it is written, or was not."""

    def is_charged(self, holder: Holder, quota: Quota) -> bool:
        """Whether a quota was charged for this already, by a write of which nobody heard that it went well."""

    def reserve(self, holder: Holder, request: Request, before: Sequence[Quota], after: Sequence[Quota]) -> None:
        """
        A request is about to be charged the difference.

        :raises NoRoom: if that cannot be noted now; nothing is, then
        """

    def withdraw(self, holder: Holder) -> None:
        """It was not, or its request is refused all the same. Nothing more will be charged for it."""


class NoReservations:
    """For who need not know: the controller of ResourceQuotas reads from versions what may not be stored yet."""

    @asynccontextmanager
    async def charging(self) -> AsyncIterator[None]:
        """See :meth:`Reservations.charging`."""
        yield

    def is_charged(self, holder: Holder, quota: Quota) -> bool:
        """It is not known."""
        return False

    def reserve(self, holder: Holder, request: Request, before: Sequence[Quota], after: Sequence[Quota]) -> None:
        """Nothing."""

    def withdraw(self, holder: Holder) -> None:
        """Nothing."""


@dataclass(eq=False, slots=True)
class Waiter:
    """
    One request that waits.

    :param came: when it began to wait, on the evaluator's clock
    :param deadline: when its time is over
    """

    request: Request
    came: float
    deadline: float
    #: Why it is refused; None if it is let through.
    result: Exception | None = field(default_factory=lambda: Undecided("DEFAULT DENY"))
    done: anyio.Event = field(default_factory=anyio.Event)
    #: Its caller has got an answer, or has gone away: nothing is to be charged for it any more.
    gone: bool = False
    holder: Holder = field(default_factory=Holder)
    #: The quotas that have been charged for it.
    charged: set[str] = field(default_factory=set)
    #: Whether quotas that refuse it have been looked at anew: what they say then is the answer.
    is_confirmed: bool = False

    def left(self, now: float) -> float:
        """How much of its time is left, from 1 down to 0."""
        seconds = self.deadline - self.came
        return min(max((self.deadline - now) / seconds, 0.0), 1.0) if seconds > 0 else 0.0

    @property
    def undecided(self) -> bool:
        return isinstance(self.result, Undecided)

    @property
    def waits(self) -> bool:
        """Whether somebody still wants to know."""
        return self.undecided and not self.gone


def still_waiting(waiters: Iterable[Waiter]) -> list[Waiter]:
    return [waiter for waiter in waiters if waiter.waits]


def decide(waiters: Iterable[Waiter], result: Exception | None) -> None:
    """Tell this to all who have not been told otherwise."""
    for waiter in waiters:
        if waiter.undecided:
            waiter.result = result
