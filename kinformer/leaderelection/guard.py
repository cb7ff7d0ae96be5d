"""Guard: refuses writes in this process once another process may hold the lease that they need.

If a leader was stopped, or had no CPU time, for longer than its lease, it does not know that. It wakes up in the middle
of a sync and writes what it had decided, while another process is leader. The guard reads the clock before each write
is sent, after everything that a request may wait for. So even the first write of such a leader is refused.

Reads are always allowed, because followers read too. Writes are recorded for the next leader
(:mod:`kinformer.leaderelection.handover`).
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import TYPE_CHECKING, Any, Final

from kinformer.client import Client, ClientError
from kinformer.client.errors import ApiError, ServerUnreachable
from kinformer.client.permission import with_permission
from kinformer.client.wrapping import WrappedTransport
from kinformer.leaderelection.handover import LastWrites

if TYPE_CHECKING:
    from kinformer.client.transport import Transport
    from kinformer.client.websocket import WebSocket

__all__ = ("EventGuard", "Guard", "GuardedTransport", "WriteRefused", "guarded_client")

_READS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
#: From this status code on, an error response does not mean that nothing was written.
_SERVER_ERROR: Final = 500


class WriteRefused(ClientError):
    """
    A write was not sent, because the lease that it needs is not held, or may have expired.

    :param what: the method and path of the write
    :param lease: the lease
    """

    def __init__(self, what: str, lease: str) -> None:
        super().__init__(f"{what} was not sent: this process does not hold the lease {lease}")
        self.lease = lease


class Guard:
    """
    Decides by a clock whether writes are allowed.

    :param lease: the lease's name in errors
    :param now: returns a time in seconds that cannot be set
    :ivar lost_at: when it last became unknown whether a write will still arrive: its sync was cancelled, or its answer
        was lost
    """

    __slots__ = ("_lease", "_now", "_until", "lost_at", "refused", "writes")

    def __init__(self, lease: str, now: Callable[[], float]) -> None:
        self._lease = lease
        self._now = now
        self._until = -inf
        self.lost_at = -inf
        #: Number of refused writes.
        self.refused = 0
        #: The writes that went through it.
        self.writes = LastWrites()

    @property
    def is_open(self) -> bool:
        """Whether writes are allowed now."""
        return self._now() < self._until

    def open_until(self, time: float) -> None:
        """Allow writes until a time."""
        self._until = time

    def close(self) -> None:
        """Allow no more writes."""
        self._until = -inf

    def lost(self, path: str) -> None:
        """Note that it is not known whether a write was carried out, or will be."""
        self.lost_at = self._now()
        self.writes.lost(path)

    def check(self, what: str) -> None:
        """
        Check that a write is allowed.

        :param what: the write's name in the error
        :raises WriteRefused: if writes are not allowed now
        """
        if not self.is_open:
            self.refused += 1
            raise WriteRefused(what, self._lease)


class EventGuard(Guard):
    """
    Allows Events while another guard is open, and for some seconds after the lease was released in good order.

    Nobody decides by Events, so the next leader need not wait for them. A leader that has lost its lease writes none.

    :param guard: the guard of all other writes
    """

    __slots__ = ("_guard",)

    def __init__(self, guard: Guard) -> None:
        super().__init__(guard._lease, guard._now)
        self._guard = guard

    @property
    def is_open(self) -> bool:
        """Whether Events may be written now."""
        return self._guard.is_open or super().is_open

    def open_for(self, seconds: float) -> None:
        """Allow Events for so many seconds. Only for a lease that was released."""
        self.open_until(self._now() + seconds)


class GuardedTransport(WrappedTransport):
    """A transport that sends no write if its guard refuses. Everything else is done by the wrapped transport."""

    def __init__(self, transport: Transport, guard: Guard) -> None:
        super().__init__(transport)
        self._guard = guard

    async def request(self, method: str, path: str, **request: Any) -> bytes:
        """
        See :meth:`Transport.request`.

        :raises WriteRefused: if it is a write, and the guard is closed when it could be sent
        """
        if method in _READS:
            return await self._transport.request(method, path, **request)
        what = f"{method} {path}"
        self._guard.check(what)
        writes = self._guard.writes
        number = writes.sent(path)
        try:
            with with_permission(lambda: self._guard.check(what)):
                answer: bytes = await self._transport.request(method, path, **request)
        except (ApiError, ServerUnreachable, WriteRefused) as error:
            if isinstance(error, ApiError) and error.code >= _SERVER_ERROR:
                self._guard.lost(path)
            else:
                writes.refused(path)
            raise
        except BaseException:
            self._guard.lost(path)
            raise
        writes.answered(number, method, path, answer)
        return answer

    async def upgrade(self, path: str, **request: Any) -> WebSocket:
        """
        See :meth:`Transport.upgrade`. A command in a container counts as a write.

        :raises WriteRefused: if the guard is closed when it could be sent
        """
        what = f"CONNECT {path}"
        self._guard.check(what)
        with with_permission(lambda: self._guard.check(what)):
            return await self._transport.upgrade(path, **request)


def guarded_client(client: Client, guard: Guard) -> Client:
    """Make a client whose writes are refused unless `guard` is open."""
    return client.through(lambda transport: GuardedTransport(transport, guard))
