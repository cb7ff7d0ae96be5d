"""CatchingUp: services that cannot be synced until the cache shows what was written last.

To go on would be to write the same again, and to be refused for it. Kubernetes tries again a little later, and later
each time; here whoever waits is synced when its objects change in the cache, which is as soon as it makes sense.
"""

from __future__ import annotations

from kinformer.clock import Clock
from kinformer.workqueue import Queue

__all__ = ("CATCH_UP_TIMEOUT", "CatchingUp")

#: Seconds after which a cache is taken at its word: what was written was undone before it could be seen, while nobody
#: watched, and will never come.
CATCH_UP_TIMEOUT = 60.0


class CatchingUp:
    """
    :param queue: where services come back to
    """

    def __init__(self, queue: Queue[str], clock: Clock) -> None:
        self._queue = queue
        self._clock = clock
        self._since: dict[str, float] = {}

    def wait(self, key: str) -> float | None:
        """
        Have a service synced when its objects have changed in the cache.

        :return: seconds for which to wait at most; None if it has waited long enough, and should go on
        """
        now = self._clock.monotonic()
        left = self._since.setdefault(key, now) + CATCH_UP_TIMEOUT - now
        if left > 0:
            return left
        del self._since[key]
        return None

    def changed(self, key: str) -> None:
        """Some object of the service has changed in the cache: if that is not the one, it will wait again."""
        if self._since.pop(key, None) is not None:
            self._queue.add(key)

    def forget(self, key: str) -> None:
        """Nothing is waited for: the cache is up to date, or the service gone."""
        self._since.pop(key, None)
