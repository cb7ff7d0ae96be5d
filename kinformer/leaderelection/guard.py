"""The guard: a client whose writes are refused in this process once the lease that they need may be another's.

A leader that was stopped, or had no processor time, for longer than its lease does not know that. It wakes up in the
middle of a sync and writes what it had decided, while another leads. The guard asks the clock before each write is
sent, after everything that a request may wait for; so what such a leader writes first is refused already.

Reading is always allowed. It is the followers' business as well. What was written is noted for the next leader
(:mod:`kinformer.leaderelection.handover`).
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import TYPE_CHECKING, Any, Final

from kinformer.client import Client, ClientError
from kinformer.client.errors import ApiError, ServerUnreachable
from kinformer.client.permission import with_permission
from kinformer.leaderelection.handover import LastWrites

if TYPE_CHECKING:
    from kinformer.client.transport import Transport
    from kinformer.client.websocket import WebSocket

__all__ = ("Guard", "GuardedTransport", "WriteRefused", "guarded_client")

_READS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
#: From here on an error does not say that nothing was written.
_SERVER_ERROR: Final = 500


class WriteRefused(ClientError):
    """
    A write was not sent: the lease that it needs is not held, or may have run out.

    :param what: method and path
    :param lease: the lease
    """

    def __init__(self, what: str, lease: str) -> None:
        super().__init__(f"{what} was not sent: this process does not hold the lease {lease}")
        self.lease = lease


class Guard:
    """
    Whether it may be written, by a clock.

    :param lease: what errors call the lease
    :param now: a time that nobody can set
    """

    __slots__ = ("_lease", "_now", "_until", "refused", "writes")

    def __init__(self, lease: str, now: Callable[[], float]) -> None:
        self._lease = lease
        self._now = now
        self._until = -inf
        #: How many writes were refused.
        self.refused = 0
        #: What was written through it.
        self.writes = LastWrites()

    @property
    def is_open(self) -> bool:
        """Whether it may be written now."""
        return self._now() < self._until

    def open_until(self, time: float) -> None:
        """Let writes pass until then."""
        self._until = time

    def close(self) -> None:
        """Let none pass any more."""
        self._until = -inf

    def check(self, what: str) -> None:
        """
        :param what: the write, as the error is to call it
        :raises WriteRefused: if it may not be sent now
        """
        if not self.is_open:
            self.refused += 1
            raise WriteRefused(what, self._lease)


class GuardedTransport:
    """A transport that sends no write which its guard does not let pass; all else is the transport's that it wraps."""

    def __init__(self, transport: Transport, guard: Guard) -> None:
        self._transport = transport
        self._guard = guard

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    async def request(self, method: str, path: str, **request: Any) -> bytes:
        """
        See :meth:`Transport.request`.

        :raises WriteRefused: if it is a write, and the guard is closed by the time that it could be sent
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
                writes.lost(path)
            else:
                writes.refused(path)
            raise
        except BaseException:
            writes.lost(path)
            raise
        writes.answered(number, method, path, answer)
        return answer

    async def upgrade(self, path: str, **request: Any) -> WebSocket:
        """
        See :meth:`Transport.upgrade`. A command in a container counts as a write.

        :raises WriteRefused: if the guard is closed by the time that it could be sent
        """
        what = f"CONNECT {path}"
        self._guard.check(what)
        with with_permission(lambda: self._guard.check(what)):
            return await self._transport.upgrade(path, **request)


def guarded_client(client: Client, guard: Guard) -> Client:
    """The same client for who may write only while `guard` lets them."""
    return client.through(lambda transport: GuardedTransport(transport, guard))
