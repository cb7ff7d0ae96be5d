"""Wire: one connection of HTTP/1.1, between the socket and the one request that is under way on it.

aiohttp makes the connections: names, addresses, proxies and TLS are its business. Then a wire takes the place of its
protocol. A request goes out with one write, and what comes back is handed to the reader as it came, up to 288 KiB at
once. aiohttp's own way makes some twenty objects and three timers for each request, and calls into Python three times
for each chunk of a body.

The create of a pod over TLS takes 0.13 ms of CPU in all, where it took 0.26 through aiohttp (medians of four runs in
turn, 16 at once, Python 3.11, a busy machine, 2026-11-23).
"""

from __future__ import annotations

import asyncio
import math
import select
from typing import Any, Final

import aiohttp

from kinformer.client.buffers import read_buffer, share_buffer, unsent
from kinformer.clock import Clock, Timer

__all__ = ("Wire",)

#: The most bytes that are held unread before the server has to wait. This is less than one read of an event loop
#: (asyncio's 262,144 bytes, uvloop's 256,000), so that each read is decoded before the next one. Two reads at once, as
#: uvloop would do, no longer fit the processor's faster caches, and an event of a watch takes 5 to 10 % more.
_MOST_UNREAD: Final = 3 * 2**16


# More than 15 fields: both directions of a connection, and its one clock.
class Wire(asyncio.BufferedProtocol):
    """
    One connection. It is used by one request at a time.

    :param connection: aiohttp's, which nothing was sent on
    :param clock: measures how long the peer is silent
    :ivar idle_since: when its last request was over, in the loop's time
    """

    def __init__(self, connection: aiohttp.connector.Connection, clock: Clock):
        transport, under = connection.transport, connection.protocol
        if transport is None or under is None or transport.is_closing() or under.should_close:
            connection.close()
            raise aiohttp.ServerDisconnectedError
        self.idle_since = 0.0
        self._connection = connection
        self._under = under
        self._transport: Any = transport
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._buffer = read_buffer(self._loop)
        self._arrived: list[bytes] = []
        self._size = 0
        #: The length of the last request.
        self._sent = 0
        self._paused = False
        self._is_busy = False
        self._ended = False
        self._error: BaseException | None = None
        self._is_late = False
        self._waiter: asyncio.Future[bool] | None = None  # whether it was interrupted
        self._due = math.inf
        #: The clock's time at which the timer fires, if there is one.
        self._fires = 0.0
        self._timer: Timer | None = None
        self._poll = _poll_of(transport)
        transport.set_protocol(self)
        self._write = share_buffer(transport, self._loop)

    # -- for the one who uses it --------------------------------------------------------------------------------------

    @property
    def is_quiet(self) -> bool:
        """
        Whether the peer of an idle connection has neither closed it nor sent anything.

        The kernel is asked, too: the loop may not have read it yet. Otherwise a write would be lost on the connection,
        or would get the answer to nothing as its own.
        """
        if self._ended or self._arrived or self._transport.is_closing():
            return False
        return self._poll is None or not self._poll.poll(0)

    def send(self, data: bytes, seconds: float | None) -> None:
        """
        Send a request.

        :param seconds: see :meth:`expect`
        """
        self._is_busy = True
        self._sent = len(data)
        self.expect(seconds)
        self._write(data)

    def expect(self, seconds: float | None) -> None:
        """
        Fail with :exc:`TimeoutError` after this many seconds, unless this is called again. None: never.

        A timer that is set is not set anew: it looks at the time when it fires. It is kept from one request to the
        next, because to set and to cancel one takes 6 us.
        """
        if seconds is None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            return
        self._due = due = self._clock.monotonic() + seconds
        if self._timer is not None:
            if self._fires <= due:
                return
            self._timer.cancel()
        self._set_timer(due, seconds)

    async def receive(self) -> bytes | None:
        """
        Everything that has arrived, at least one byte. Empty if the peer has closed the connection in good order, and
        None if the wait was interrupted.

        :raises aiohttp.ClientOSError: if it broke
        :raises TimeoutError: if it took too long
        """
        while not self._arrived:
            if self._ended:
                return self._end()
            self._waiter = waiter = self._loop.create_future()
            try:
                is_interrupted = await waiter
            finally:
                self._waiter = None
            if is_interrupted and not self.has_unread:
                return None
        arrived, self._arrived, self._size = self._arrived, [], 0
        if self._paused:
            self._paused = False
            if not self._transport.is_closing():
                self._transport.resume_reading()
        return arrived[0] if len(arrived) == 1 else b"".join(arrived)

    @property
    def has_unread(self) -> bool:
        """Whether :meth:`receive` would return at once."""
        return bool(self._arrived) or self._ended

    def interrupt(self) -> None:
        """Have a :meth:`receive` that waits return None."""
        self._wake(is_interrupted=True)

    def rest(self) -> bool:
        """Stop using it for now. Returns whether another request can use it."""
        self._is_busy = False
        self._due = math.inf
        # If something of a request is unsent, the peer has answered before it had read all of it.
        can_be_used = not (self._ended or self._arrived or unsent(self._transport, self._sent))
        return can_be_used and not self._transport.is_closing()

    def close(self) -> None:
        """Close the connection. What is still unsent is not sent. Closing it again has no effect."""
        self.expect(None)
        # If it was not aborted, it would stay open, and go on sending, until the peer has read all of it.
        if unsent(self._transport, self._sent):
            self._transport.abort()
        self._connection.close()

    # -- for the transport --------------------------------------------------------------------------------------------

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        self.data_received(bytes(self._buffer[:nbytes]))

    def data_received(self, data: bytes) -> None:
        """Take bytes from a transport that has a buffer of its own."""
        if not self._is_busy:
            self.close()  # nobody asked for it
            return
        self._arrived.append(data)
        self._size += len(data)
        if self._size >= _MOST_UNREAD and not self._paused:
            self._paused = True
            self._transport.pause_reading()
        if self._waiter is not None:
            self._wake()

    def connection_lost(self, exc: BaseException | None) -> None:
        self._fail(exc)
        self._under.connection_lost(exc)  # aiohttp waits for it when it closes all of its connections
        self.close()

    # -- inside -------------------------------------------------------------------------------------------------------

    def _look_at_the_time(self) -> None:
        self._timer = None
        left = self._due - self._clock.monotonic()
        if left <= 0:
            if self._waiter is not None:  # otherwise it is the reader who takes long
                self._is_late = True
                self._fail(None)
        elif self._due < math.inf:
            self._set_timer(self._due, left)

    def _set_timer(self, due: float, seconds: float) -> None:
        self._fires = due
        self._timer = self._clock.call_later(seconds, self._look_at_the_time)

    def _fail(self, error: BaseException | None) -> None:
        if not self._ended:
            self._ended, self._error = True, error
        self._wake()

    def _wake(self, *, is_interrupted: bool = False) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(is_interrupted)

    def _end(self) -> bytes:
        if self._is_late:
            raise TimeoutError
        if self._error is not None:
            raise aiohttp.ClientOSError(*self._error.args) from self._error
        return b""


def _poll_of(transport: asyncio.BaseTransport) -> Any:
    """A poll object that says whether there is something to read; None where there is no socket."""
    sock = transport.get_extra_info("socket")
    if sock is None or not hasattr(select, "poll"):
        return None
    poll = select.poll()
    poll.register(sock.fileno(), select.POLLIN)
    return poll
