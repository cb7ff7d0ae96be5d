"""The network of a simulated world: connections in memory, behind asyncio's functions for sockets.

aiohttp's client and server call ``create_connection`` and ``create_server`` as usual. Bytes that are written at one end
arrive at the other end later, in order, and sometimes in two pieces. The delay of each piece is drawn from the seed. So
the pieces of one connection stay in order, but those of two connections may arrive in any order.

A connection can break at any time, also in the middle of a piece, whose rest is lost then. One direction can be silent
for a while. An address without a listener refuses connections.

TLS is not simulated: the bytes are sent without encryption. Sockets that a client makes only stand for a connection;
they are never connected.
"""

from __future__ import annotations

import asyncio
import errno
import itertools
import random
import socket
from collections import deque
from collections.abc import Awaitable, Callable
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from kinformer.simulation.loop import OWNER, Owner, SimulatedLoop

__all__ = ("HIGH", "LOW", "End", "Line", "Listener", "Network", "NetworkOptions")

#: With more than the first number of bytes on their way or unread, a writer has to wait; with the second it goes on.
HIGH: Final = 64 * 1024
LOW: Final = 16 * 1024


@dataclass(frozen=True, slots=True)
class NetworkOptions:
    """
    The behaviour of the network.

    :param latency: the least and the most seconds until a piece arrives
    :param pieces: the probability that the bytes of one write arrive in two pieces
    """

    latency: tuple[float, float] = (0.0002, 0.002)
    pieces: float = 0.05


class Listener:
    """Stands for a listening socket. It has the methods that aiohttp's server uses."""

    family = socket.AF_INET
    type = socket.SOCK_STREAM

    def __init__(self, host: str, port: int) -> None:
        self._address = (host, port)

    def getsockname(self) -> tuple[str, int]:
        return self._address

    def close(self) -> None:
        """Do nothing: there is no socket to close."""

    def dup(self) -> Listener:
        return Listener(*self._address)

    def __enter__(self) -> Listener:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Line(Protocol):
    """A direct request, see :mod:`kinformer.simulation.direct`. It breaks as a connection does."""

    owner: Owner | None
    server: Server | None

    def break_off(self) -> None:
        """Break it at the client's end."""

    def abort(self) -> None:
        """Break it at the server's end."""


class Server(asyncio.AbstractServer):
    """
    A listener on one address, until it is closed.

    :ivar handler: handles direct requests; None if there are none
    :ivar tasks: the direct requests that are being handled
    """

    def __init__(self, network: Network, factory: Callable[[], Any], address: tuple[str, int], tls: object) -> None:
        self.factory = factory
        self.address = address
        self.tls = tls
        self.context = copy_context()
        self.is_accepting = True
        self.handler: Callable[[Any], Awaitable[Any]] | None = None
        self.tasks: dict[asyncio.Task[None], None] = {}
        self._network = network

    @property
    def owner(self) -> Owner | None:
        """The process that listens."""
        return self.context.get(OWNER)

    @property
    def sockets(self) -> tuple[Listener, ...]:
        return (Listener(*self.address),) if self.is_serving() else ()

    def get_loop(self) -> asyncio.AbstractEventLoop:
        return self._network.loop

    def is_serving(self) -> bool:
        return self._network.servers.get(self.address) is self

    async def start_serving(self) -> None:
        """Do nothing: it serves from the beginning."""

    async def serve_forever(self) -> None:
        await self._network.loop.create_future()

    def close(self) -> None:
        if self.is_serving():
            del self._network.servers[self.address]

    async def wait_closed(self) -> None:
        """Return at once: accepted connections stay open when their server is closed."""


@dataclass(eq=False)
class Network:
    """
    All connections of a world.

    :param loop: the loop whose network this is
    :param seed: latencies and pieces are drawn from it
    :param options: latencies, and how often bytes are split
    :ivar servers: the listeners, by host and port
    :ivar ends: both ends of every open connection
    :ivar lines: the direct requests that are not over
    """

    loop: SimulatedLoop
    seed: object
    options: NetworkOptions = field(default_factory=NetworkOptions)
    servers: dict[tuple[str, int], Server] = field(default_factory=dict, init=False)
    ends: dict[End, None] = field(default_factory=dict, init=False)
    lines: dict[Line, None] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self._random = random.Random(f"network {self.seed}")
        self._claims: dict[int, tuple[str, int]] = {}
        self._ports = itertools.count(40_000)
        self.loop.network = self

    # -- for the loop -------------------------------------------------------------------------------------------------

    def listen(
        self, factory: Callable[[], Any], host: Any, port: Any, sock: Any = None, tls: object = None
    ) -> asyncio.AbstractServer:
        """
        Listen at an address.

        :param factory: makes the protocol of each accepted connection
        :raises OSError: if the address is in use
        """
        address = sock.getsockname()[:2] if sock is not None else (host or "0.0.0.0", port or next(self._ports))
        if address in self.servers:
            raise OSError(errno.EADDRINUSE, f"address {address} is in use")
        server = self.servers[address] = Server(self, factory, address, tls)
        return server

    def stop_accepting(self, sock: Any) -> bool:
        """Refuse new connections at the address of a listening socket; returns whether there is a listener."""
        server = self.servers.get(sock.getsockname()[:2])
        if server is not None:
            server.is_accepting = False
        return server is not None

    async def claim(self, sock: socket.socket, address: Any) -> None:
        """
        Let a socket stand for a connection to an address. :meth:`connect` then gets this socket.

        :raises ConnectionRefusedError: if there is no listener
        """
        await self._travel()
        self._server_at(address[:2])
        self._claims[sock.fileno()] = address[:2]

    async def connect(self, factory: Callable[[], Any], host: Any, port: Any, sock: Any, tls: object) -> Any:
        """
        Open a connection.

        :param factory: makes the client's protocol
        :return: the client's transport and protocol
        :raises ConnectionRefusedError: if there is no listener
        :raises OSError: if the process is dead or cut off from the network
        """
        if sock is not None:
            address = self._claims.pop(sock.fileno())
            sock.close()
        else:
            address = (host, port)
            await self._travel()
        server = self._server_at(address)
        owner = OWNER.get()
        here = (owner.name if owner is not None else "nowhere", next(self._ports))
        client_end = End(self, here, address, copy_context(), tls)
        server_end = End(self, address, here, server.context, server.tls)
        client_end.peer, server_end.peer = server_end, client_end
        self.ends[client_end] = self.ends[server_end] = None
        server.context.run(server_end.open, server.factory)
        client_end.open(factory)
        return client_end, client_end.protocol

    async def _travel(self) -> None:
        if (owner := OWNER.get()) is not None and not owner.may_send():
            raise OSError(errno.ENETUNREACH, "this process is dead, or cut off")
        await asyncio.sleep(self.latency())

    def _server_at(self, address: tuple[str, int]) -> Server:
        server = self.servers.get(address)
        owner = server.owner if server is not None else None
        if server is None or not server.is_accepting or (owner is not None and not owner.may_send()):
            raise ConnectionRefusedError(errno.ECONNREFUSED, f"Connect call failed {address}")
        return server

    # -- for the ends of connections ----------------------------------------------------------------------------------

    def latency(self) -> float:
        """The seconds until the next piece arrives."""
        least, most = self.options.latency
        return least + (most - least) * self._random.random()

    def pieces(self, data: bytes) -> tuple[bytes, ...]:
        """The pieces in which the bytes of one write arrive."""
        draw = self._random
        if len(data) < 2 or draw.random() >= self.options.pieces:
            return (data,)
        at = draw.randrange(1, len(data))
        return data[:at], data[at:]

    def ends_of(self, owner: Owner) -> list[End]:
        """The ends of connections that a process has made or accepted."""
        return [end for end in self.ends if end.owner is owner]

    def cut(self, owner: Owner) -> None:
        """Break all connections of a process."""
        for end in self.ends_of(owner):
            end.abort()
        self._cut_lines(owner)

    def _cut_lines(self, owner: Owner) -> None:
        for line in list(self.lines):
            if line.owner is owner:
                line.break_off()
            elif line.server is not None and line.server.owner is owner:
                line.abort()

    def leave(self, owner: Owner) -> None:
        """Break the connections of a dead process, and close its listeners."""
        for end in self.ends_of(owner):
            end.vanish()
        self._cut_lines(owner)
        for server in [server for server in self.servers.values() if server.owner is owner]:
            server.close()


# More than 15 fields: both directions of a connection: what is sent and what has arrived.
class End(asyncio.Transport):
    """
    One end of a connection.

    :ivar owner: the process that it belongs to
    :ivar peer: the other end
    :ivar protocol: the protocol that uses it
    :ivar after_arrival: called once, after the protocol has got the next piece
    :ivar loses_after: how many bytes of the next write are sent before the connection breaks; None if it does not break
    """

    #: Its callbacks deliver what arrives from the network: see :meth:`SimulatedLoop.release`.
    is_of_network: Final = True
    peer: End
    protocol: Any

    def __init__(
        self,
        network: Network,
        here: tuple[str, int],
        there: tuple[str, int],
        context: Context,
        tls: object,
    ) -> None:
        super().__init__({"sockname": here, "peername": there, "sslcontext": tls})
        self.owner: Owner | None = context.get(OWNER)
        self.after_arrival: Callable[[], object] | None = None
        self.loses_after: int | None = None
        self._network = network
        self._loop = network.loop
        self._context = context
        #: The time at which the last piece arrives that was sent from here.
        self._last = 0.0
        self._closing = False
        self._lost = False
        self._unread: deque[bytes | None] = deque()
        self._is_reading = True
        self._outstanding = 0
        self._peer_waits = False

    def open(self, factory: Callable[[], Any]) -> None:
        """Make the protocol, and call its ``connection_made``."""
        self.protocol = factory()
        self.protocol.connection_made(self)

    @property
    def sender(self) -> Owner | None:
        """The process at the other end."""
        return self.peer.owner

    # -- asyncio's transport ------------------------------------------------------------------------------------------

    def is_closing(self) -> bool:
        return self._closing

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self.protocol = protocol

    def get_protocol(self) -> asyncio.BaseProtocol:
        found: asyncio.BaseProtocol = self.protocol
        return found

    def is_reading(self) -> bool:
        return self._is_reading

    def pause_reading(self) -> None:
        self._is_reading = False

    def resume_reading(self) -> None:
        if not self._is_reading:
            self._is_reading = True
            self._loop.call_soon(self._read, context=self._context)

    def get_write_buffer_size(self) -> int:
        return 0

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Do nothing: the limits are those of the network."""

    def can_write_eof(self) -> bool:
        return False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self._closing or not data or (self.owner is not None and not self.owner.may_send()):
            return
        data = bytes(data)
        if self.loses_after is not None:
            self._send(data[: self.loses_after])
            self.abort()
            return
        for piece in self._network.pieces(data):
            self._send(piece)
        self._outstanding += len(data)
        if self._outstanding > HIGH and not self._peer_waits:
            self._peer_waits = True
            self.protocol.pause_writing()

    def writelines(self, list_of_data: Any) -> None:
        self.write(b"".join(list_of_data))

    def close(self) -> None:
        if not self._closing:
            self._closing = True
            self._send(None)
            self._loop.call_soon(self._lose, None, context=self._context)

    def abort(self) -> None:
        """Break the connection. Later writes are lost, and the other end gets an error after the latency."""
        if not self._lost:
            self._closing = True
            peer = self.peer
            self._last = at = max(self._last, self._loop.now + self._network.latency())
            self._loop.call_at(at, peer.break_off, context=peer._context)
            self._loop.call_soon(self._lose, None, context=self._context)

    # -- what arrives --------------------------------------------------------------------------------------------

    def lose_after(self, count: int) -> None:
        """Break the connection when so many further bytes have arrived at the other end."""
        self.loses_after = count

    def when_read(self, callback: Callable[[], object]) -> None:
        """Call a function when the other end has read what is sent next."""
        self.peer.after_arrival = callback

    def be_silent(self, seconds: float) -> None:
        """Delay everything that is sent from here until some seconds from now. The order stays."""
        self._last = max(self._last, self._loop.now + seconds)

    def break_off(self) -> None:
        """Close this end of a broken connection now, with an error."""
        self._closing = True
        self._unread.clear()
        self._lose(ConnectionResetError(errno.ECONNRESET, "Connection reset by peer"))

    def vanish(self) -> None:
        """Break the connection of a dead process. Its protocol gets nothing more from the network."""
        self.abort()
        self._unread.clear()

    def _send(self, piece: bytes | None) -> None:
        peer = self.peer
        self._last = at = max(self._last, self._loop.now + self._network.latency())
        self._loop.call_at(at, peer._arrive, piece, context=peer._context)

    def _arrive(self, piece: bytes | None) -> None:
        if self._lost or (self._closing and piece is not None):
            return
        if self._unread or not self._is_reading:
            self._unread.append(piece)
        else:
            self._take(piece)

    def _read(self) -> None:
        while self._unread and self._is_reading and not self._lost:
            self._take(self._unread.popleft())

    def _take(self, piece: bytes | None) -> None:
        if piece is None:
            if not self.protocol.eof_received():
                self.close()
            return
        peer = self.peer
        peer._outstanding -= len(piece)
        if peer._peer_waits and peer._outstanding <= LOW:
            peer._peer_waits = False
            self._loop.call_soon(peer.protocol.resume_writing, context=peer._context)
        try:
            self.protocol.data_received(piece)
        except (SystemExit, KeyboardInterrupt):
            raise
        except BaseException as error:
            self._loop.call_exception_handler(
                {"message": "protocol.data_received() failed", "exception": error, "transport": self}
            )
            self.abort()
        if self.after_arrival is not None:
            after, self.after_arrival = self.after_arrival, None
            after()

    def _lose(self, error: Exception | None) -> None:
        if not self._lost:
            self._lost = True
            self._network.ends.pop(self, None)
            self.protocol.connection_lost(error)
