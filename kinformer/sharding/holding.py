"""Holding: the ranges that a member holds, in the gate and in the caches at the same time.

A range that was claimed is filled before it opens. The caches get its objects in a state that is read *after* the claim
was written, so it includes the last write of the former owner.
"""

from __future__ import annotations

from typing import Protocol

import anyio

from kinformer.logs import get_logger
from kinformer.sharding.gate import RangeGate
from kinformer.sharding.metrics import ShardMetrics

__all__ = ("Holding", "RangeCaches")

log = get_logger(__name__)


class RangeCaches(Protocol):
    """The caches of a member, which hold the objects of its ranges."""

    @property
    def objects(self) -> int:
        """The number of objects that are held, but for those that every member holds."""

    def hold(self, numbers: frozenset[int]) -> None:
        """Hold the objects of these ranges from now on: get those that are missing, and drop all others."""

    async def wait_filled(self) -> None:
        """
        Drop objects that are not to be held any more, and wait for all others.

        Return once they are all there, in a state that is not older than the last call of :meth:`hold`.
        """


class Holding:
    """
    :param gate: lets workers sync keys of the ranges
    :param caches: hold the objects of the ranges
    :param member: the member's name in logs
    """

    def __init__(self, gate: RangeGate, caches: RangeCaches, metrics: ShardMetrics, member: str) -> None:
        self.gate = gate
        self._caches = caches
        self._metrics = metrics
        self._log = log.bind(member=member)
        self._fills = anyio.Event()
        self._given_up = anyio.Event()

    def gained(self, numbers: frozenset[int]) -> None:
        """Begin to hold these ranges."""
        if not numbers:
            return
        self._log.info("shards_claimed", shards=len(numbers))
        self._metrics.claimed.inc(len(numbers))
        self.gate.claim(numbers)
        self._tell_caches()

    def gave_up(self, numbers: frozenset[int]) -> None:
        """Hold these ranges no longer."""
        if not numbers:
            return
        self._log.info("shards_given_up", shards=len(numbers))
        self._metrics.given_up.inc(len(numbers))
        self.gate.gave_up(numbers)
        self._tell_caches()
        self._given_up.set()
        self._given_up = anyio.Event()

    def _tell_caches(self) -> None:
        self._caches.hold(self.gate.held)
        self._fills.set()

    async def wait_empty(self) -> None:
        """Return when no range is held any more."""
        while self.gate.held:
            await self._given_up.wait()

    async def fill(self) -> None:
        """Wait for the objects of claimed ranges, and open these ranges. Never returns."""
        while True:
            await self._fills.wait()
            self._fills = anyio.Event()
            claims = self.gate.unfilled
            await self._caches.wait_filled()
            self.gate.filled(claims)
