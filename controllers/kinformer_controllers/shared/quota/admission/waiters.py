"""Waiters: requests that wait to be checked, and what is told elsewhere of their charges."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Hashable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Protocol

import anyio

from kinformer_controllers.shared.quota.evaluator import Request
from kinformer_controllers.shared.quota.limits import Quota

__all__ = ("NoReservations", "Reservations", "Waiter", "decide", "still_waiting")


class Undecided(Exception):
    """What a request is told that nobody has decided about: no."""


class Reservations(Protocol):
    """Is told what is charged before it is written, for who has to know what is not stored yet."""

    def charging(self) -> AbstractAsyncContextManager[None]:
        """Entered before quotas are read for a charge, and left when it is written, or was not."""

    def reserve(self, holder: Hashable, request: Request, before: Sequence[Quota], after: Sequence[Quota]) -> None:
        """A request is about to be charged the difference."""

    def withdraw(self, holder: Hashable, quotas: Collection[str] | None = None) -> None:
        """It was not, or its request is refused all the same: of these quotas, or of all."""


class NoReservations:
    """For who need not know: the controller of ResourceQuotas reads from versions what may not be stored yet."""

    @asynccontextmanager
    async def charging(self) -> AsyncIterator[None]:
        """See :meth:`Reservations.charging`."""
        yield

    def reserve(self, holder: Hashable, request: Request, before: Sequence[Quota], after: Sequence[Quota]) -> None:
        """Nothing."""

    def withdraw(self, holder: Hashable, quotas: Collection[str] | None = None) -> None:
        """Nothing."""


@dataclass(eq=False, slots=True)
class Waiter:
    """
    One request that waits.

    :param deadline: when its time is over, on the evaluator's clock
    """

    request: Request
    deadline: float
    #: Why it is refused; None if it is let through.
    result: Exception | None = field(default_factory=lambda: Undecided("DEFAULT DENY"))
    done: anyio.Event = field(default_factory=anyio.Event)
    #: Its caller has got an answer, or has gone away: nothing is to be charged for it any more.
    gone: bool = False
    #: What stands for it elsewhere: who keeps that does not keep the object.
    token: object = field(default_factory=object)

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
