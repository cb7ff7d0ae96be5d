"""Expectations: what a controller has asked for and not yet seen come true in its cache.

A controller that makes three pods and is synced again before the watch has shown them would count none and make three
more. So it writes down what it expects, the handlers of its informers cross it off, and until everything is crossed
off (or five minutes are over: a notification may have been lost) it neither creates nor deletes.

:class:`Expectations` counts. :class:`UIDTrackingExpectations` also knows *which* deletions are awaited, so that one
that is seen twice, as a deletion timestamp and then as the object's end, is crossed off once.

All of it belongs to the event loop's thread.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kinformer.clock import Clock, RealClock
from kinformer.logs import get_logger

__all__ = ("EXPECTATIONS_TIMEOUT", "Expectation", "Expectations", "UIDTrackingExpectations")

log = get_logger(__name__)

#: Seconds after which a controller no longer waits for what it expected.
EXPECTATIONS_TIMEOUT = 5 * 60.0


@dataclass(eq=False, slots=True)
class Expectation:
    """
    What one controller waits for.

    :param creations: creations not yet seen; below zero when more came than were expected
    :param deletions: the same of deletions
    :param since: when it was set, in the clock's monotonic seconds
    """

    creations: int
    deletions: int
    since: float

    @property
    def fulfilled(self) -> bool:
        return self.creations <= 0 and self.deletions <= 0


class Expectations:
    """
    What each controller, by its key, waits for (client-go's ControllerExpectations).

    Keys of one instance are keys of one kind of controller; two kinds would mistake each other's for their own.
    """

    __slots__ = ("_by_key", "_clock")

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or RealClock()
        self._by_key: dict[str, Expectation] = {}

    def get(self, key: str) -> Expectation | None:
        return self._by_key.get(key)

    def satisfied(self, key: str) -> bool:
        """Whether the controller may act: it saw all it waited for, has waited too long, or never expected anything."""
        expected = self._by_key.get(key)
        if expected is None or expected.fulfilled:
            return True
        if self._clock.monotonic() - expected.since > EXPECTATIONS_TIMEOUT:
            log.info("expectations_expired", key=key, creations=expected.creations, deletions=expected.deletions)
            return True
        return False

    def expect(self, key: str, creations: int = 0, deletions: int = 0) -> None:
        """Set what is expected from now on; what was expected before is forgotten."""
        self._by_key[key] = Expectation(creations, deletions, self._clock.monotonic())

    def expect_creations(self, key: str, count: int) -> None:
        self.expect(key, creations=count)

    def creation_observed(self, key: str) -> None:
        self.lower(key, creations=1)

    def lower(self, key: str, creations: int = 0, deletions: int = 0) -> None:
        """Cross off so many; nothing happens where nothing was expected."""
        expected = self._by_key.get(key)
        if expected is not None:
            expected.creations -= creations
            expected.deletions -= deletions

    def raise_(self, key: str, creations: int = 0, deletions: int = 0) -> None:
        """Expect so many more, without starting the waiting time anew."""
        self.lower(key, -creations, -deletions)

    def forget(self, key: str) -> None:
        """The controller is gone; one that is made with its name starts clean."""
        self._by_key.pop(key, None)


class UIDTrackingExpectations(Expectations):
    """Expectations that know their deletions one by one (client-go's UIDTrackingControllerExpectations)."""

    __slots__ = ("_awaited",)

    def __init__(self, clock: Clock | None = None) -> None:
        super().__init__(clock)
        self._awaited: dict[str, set[str]] = {}

    def expect_deletions(self, key: str, objects: Iterable[str]) -> None:
        """
        Wait for these deletions.

        :param objects: what identifies each; for pods, their namespace/name keys
        """
        awaited = set(objects)
        if left := self._awaited.get(key):
            log.warning("awaited_deletions_overwritten", key=key, objects=sorted(left))
        self._awaited[key] = awaited
        self.expect(key, deletions=len(awaited))

    def deletion_observed(self, key: str, obj: str) -> None:
        """Cross off one deletion, if it was awaited and not crossed off before."""
        awaited = self._awaited.get(key)
        if awaited is not None and obj in awaited:
            awaited.discard(obj)
            self.lower(key, deletions=1)

    def awaited_deletions(self, key: str) -> frozenset[str]:
        return frozenset(self._awaited.get(key, ()))

    def forget(self, key: str) -> None:
        super().forget(key)
        self._awaited.pop(key, None)
