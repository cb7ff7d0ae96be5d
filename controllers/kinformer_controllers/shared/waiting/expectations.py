"""Expectations: what a controller has asked for and not yet seen come true in its cache.

A controller that makes three pods and is synced again before the watch has shown them would count none and make three
more. So it writes down what it expects, the handlers of its informers cross it off, and until everything is crossed
off (or five minutes are over: a notification may have been lost) it neither creates nor deletes::

    owner = owner_id(daemon_set)
    expectations.expect(owner, creations=3, deletions=2)           # counted
    expectations.expect(owner, deletions=["ns/web-1", "ns/web-2"])  # known one by one

Deletions that are known one by one are crossed off once each, though they are seen twice: as a deletion timestamp, and
then as the object's end. What one owner expects does not concern another that is made under its name later.

All of it belongs to the event loop's thread.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kinformer.clock import Clock, RealClock
from kinformer.logs import get_logger
from kinformer_controllers.shared.owning.identity import OwnerId

__all__ = ("EXPECTATIONS_TIMEOUT", "Expectation", "Expectations")

log = get_logger(__name__)

#: Seconds after which a controller no longer waits for what it expected.
EXPECTATIONS_TIMEOUT = 5 * 60.0


@dataclass(eq=False, slots=True)
class Expectation:
    """
    What one owner waits for.

    :param uid: whose it is
    :param creations: creations not yet seen; below zero when more came than were expected
    :param deletions: the same of deletions
    :param since: when it was set, in the clock's monotonic seconds
    :param awaited: the deletions that are not yet seen, where they are known one by one
    """

    uid: str
    creations: int
    deletions: int
    since: float
    awaited: set[str] | None = None

    @property
    def fulfilled(self) -> bool:
        return self.creations <= 0 and self.deletions <= 0


class Expectations:
    """
    What each owner waits for (client-go's ControllerExpectations and UIDTrackingControllerExpectations in one).

    Keys of one instance are keys of one kind of controller; two kinds would mistake each other's for their own.
    """

    __slots__ = ("_by_key", "_clock")

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or RealClock()
        self._by_key: dict[str, Expectation] = {}

    def get(self, owner: OwnerId) -> Expectation | None:
        expected = self._by_key.get(owner.key)
        return expected if expected is not None and expected.uid == owner.uid else None

    def satisfied(self, owner: OwnerId) -> bool:
        """Whether the owner may act: it saw all it waited for, has waited too long, or never expected anything."""
        expected = self.get(owner)
        if expected is None or expected.fulfilled:
            return True
        if self._clock.monotonic() - expected.since > EXPECTATIONS_TIMEOUT:
            log.info("expectations_expired", key=owner.key, creations=expected.creations, deletions=expected.deletions)
            return True
        return False

    def expect(self, owner: OwnerId, *, creations: int = 0, deletions: int | Iterable[str] = 0) -> None:
        """
        Set what is expected from now on; what was expected before is forgotten.

        :param deletions: how many; or what identifies each of them, for pods their namespace/name keys
        """
        if left := self.awaited_deletions(owner):
            log.warning("awaited_deletions_overwritten", key=owner.key, objects=sorted(left))
        awaited = None if isinstance(deletions, int) else set(deletions)
        count = deletions if isinstance(deletions, int) else len(awaited or ())
        self._by_key[owner.key] = Expectation(owner.uid, creations, count, self._clock.monotonic(), awaited)

    def creation_observed(self, owner: OwnerId) -> None:
        """Cross off one creation."""
        self.lower(owner, creations=1)

    def deletion_observed(self, owner: OwnerId, obj: str = "") -> None:
        """
        Cross off one deletion.

        :param obj: which one. Where deletions are known one by one, only one that is awaited is crossed off, and once
        """
        expected = self.get(owner)
        if expected is None:
            return
        if expected.awaited is not None:
            if obj not in expected.awaited:
                return
            expected.awaited.discard(obj)
        expected.deletions -= 1

    def lower(self, owner: OwnerId, creations: int = 0, deletions: int = 0) -> None:
        """Cross off so many; nothing happens where nothing was expected."""
        expected = self.get(owner)
        if expected is not None:
            expected.creations -= creations
            expected.deletions -= deletions

    def raise_(self, owner: OwnerId, creations: int = 0, deletions: int = 0) -> None:
        """Expect so many more, without starting the waiting time anew."""
        self.lower(owner, -creations, -deletions)

    def awaited_deletions(self, owner: OwnerId) -> frozenset[str]:
        """Those that are known one by one and not yet seen."""
        expected = self.get(owner)
        return frozenset(expected.awaited or ()) if expected is not None else frozenset()

    def forget(self, key: str, uid: str = "") -> None:
        """
        The owner is gone.

        :param uid: which one; if another has its name by now, what that one expects is kept. Empty for whichever
        """
        expected = self._by_key.get(key)
        if expected is not None and uid in ("", expected.uid):
            del self._by_key[key]
