"""Expectations: creations and deletions of a controller that its cache has not shown yet.

If a controller creates three pods and is synced again before its cache shows them, it would count none and create three
more. So it notes what it expects. The handlers of its informers lower the numbers. Until they are zero, the controller
creates and deletes nothing. After five minutes it acts anyway, because an event may have been lost::

    owner = owner_id(daemon_set)
    expectations.expect(owner, creations=3, deletions=2)           # counted
    expectations.expect(owner, deletions=["ns/web-1", "ns/web-2"])  # by key

A deletion is seen twice: when the deletion timestamp is set, and when the object is gone. A deletion that is expected
by key counts only once. The expectations of an owner do not apply to a later owner with the same name.

Everything here is only used in the thread of the event loop.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kinformer.clock import Clock, RealClock
from kinformer.controllerutil.owning import OwnerId
from kinformer.logs import get_logger

__all__ = (
    "EXPECTATIONS_TIMEOUT",
    "Expectation",
    "Expectations",
)

log = get_logger(__name__)

#: Seconds after which a controller no longer waits for its expectations.
EXPECTATIONS_TIMEOUT = 5 * 60.0


@dataclass(eq=False, slots=True)
class Expectation:
    """
    The expectations of one owner.

    :param uid: the owner's uid
    :param creations: the number of creations not yet seen; negative if more came than were expected
    :param deletions: the number of deletions not yet seen; negative if more came than were expected
    :param since: when they were set, in the clock's monotonic seconds
    :param awaited: the keys of the deletions not yet seen, if they are expected by key
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
    The expectations of all owners: client-go's ControllerExpectations and UIDTrackingControllerExpectations in one.

    An instance is for the owners of one kind only, because owners of different kinds can have the same key.
    """

    __slots__ = ("_by_key", "_clock")

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or RealClock()
        self._by_key: dict[str, Expectation] = {}

    def get(self, owner: OwnerId) -> Expectation | None:
        expected = self._by_key.get(owner.key)
        return expected if expected is not None and expected.uid == owner.uid else None

    def satisfied(self, owner: OwnerId) -> bool:
        """Whether the owner may act: it has no expectations, they are fulfilled, or they have timed out."""
        expected = self.get(owner)
        if expected is None or expected.fulfilled:
            return True
        if self._clock.monotonic() - expected.since > EXPECTATIONS_TIMEOUT:
            log.info("expectations_expired", key=owner.key, creations=expected.creations, deletions=expected.deletions)
            return True
        return False

    def expect(self, owner: OwnerId, *, creations: int = 0, deletions: int | Iterable[str] = 0) -> None:
        """
        Set the expectations of an owner. They replace its earlier ones.

        :param deletions: their number, or their keys; the key of a pod is ``namespace/name``
        """
        awaited = None if isinstance(deletions, int) else set(deletions)
        if left := self.awaited_deletions(owner).difference(awaited or ()):
            log.warning("awaited_deletions_overwritten", key=owner.key, objects=sorted(left))
        count = deletions if isinstance(deletions, int) else len(awaited or ())
        self._by_key[owner.key] = Expectation(owner.uid, creations, count, self._clock.monotonic(), awaited)

    def creation_observed(self, owner: OwnerId) -> None:
        """Lower the expected creations by one."""
        self.lower(owner, creations=1)

    def deletion_observed(self, owner: OwnerId, obj: str = "") -> None:
        """
        Lower the expected deletions by one.

        :param obj: the key of the deleted object. If deletions are expected by key, other keys are ignored, and each
            key counts once
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
        """Lower the expected numbers. If the owner has no expectations, nothing happens."""
        expected = self.get(owner)
        if expected is not None:
            expected.creations -= creations
            expected.deletions -= deletions

    def awaited_deletions(self, owner: OwnerId) -> frozenset[str]:
        """Return the keys of the expected deletions that were not seen yet."""
        expected = self.get(owner)
        return frozenset(expected.awaited or ()) if expected is not None else frozenset()

    def forget(self, key: str, uid: str = "") -> None:
        """
        Forget the expectations of an owner that is gone.

        :param uid: the owner's uid; the expectations of another owner with the same name are kept. Empty for any uid
        """
        expected = self._by_key.get(key)
        if expected is not None and uid in ("", expected.uid):
            del self._by_key[key]
