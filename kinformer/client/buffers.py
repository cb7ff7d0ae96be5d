"""Buffers: what all connections of an event loop read into, and the short way of their bytes through TLS.

asyncio gives each TLS connection a buffer of 256 KiB, into which it reads from the socket. A manager with all
controllers has some ninety connections, most of them watches on which nothing happens: 24 MiB of memory. One buffer is
enough, because asyncio copies the bytes out of it before it reads from another socket of the same loop.

For what it has decrypted, asyncio allocates 256 KiB for each read, unless a protocol has a buffer for it. An API server
sends at least one record for each event of a watch. If each event is a record of its own, an event of 5.7 KB is
decrypted in 5.8 µs instead of 8.8. In records of 16 KiB it takes 3.1 instead of 6.1. OpenSSL's AES-GCM takes 1.8 µs of
these.

A small request and its answer go through a dozen methods of asyncio's TLS protocol each, and an exception says that
there is no second record. :class:`_ShortTls` has one method for each direction. It only takes what is whole at once,
and leaves all else to asyncio's methods.

There is no public way to do this. The private parts are a transport's ``_ssl_protocol``, the protocol's ``_ssl_buffer``
and ``_ssl_buffer_view``, and for the short way its attributes in :data:`_NEEDED`. If a version of asyncio or another
loop lacks them, each connection keeps a buffer of its own, or takes asyncio's way, and a test fails. All uses of
asyncio's private parts are here.
"""

from __future__ import annotations

import asyncio
import ssl
from asyncio import sslproto
from collections.abc import Callable
from typing import Any, Final
from weakref import WeakKeyDictionary

__all__ = ("read_buffer", "share_buffer", "unsent")

#: Bytes: as much as asyncio reads from a socket at once, and a record before that of which only a part had come.
_READ_AT_ONCE: Final = 2**18 + 2**15
#: Bytes of which most answers have fewer. A longer read has many records of a watch, which asyncio's way joins better.
_SHORT: Final = 2**14
_NEEDED: Final = (
    "_app_protocol_buffer_updated",
    "_app_protocol_get_buffer",
    "_app_reading_paused",
    "_do_read",
    "_fatal_error",
    "_incoming",
    "_outgoing",
    "_ssl_writing_paused",
    "_sslobj",
    "_state",
    "_transport",
    "_write_appdata",
    "_write_backlog",
)
_AGAIN: Final = (ssl.SSLWantReadError, ssl.SSLSyscallError)

#: The bytes of one write that the kernel takes at once if nothing waits before them: its smallest buffer.
_TAKEN_AT_ONCE: Final = 2**14

#: Each loop has its own: another loop may run in another thread, and decryption releases the GIL.
_of_loops: WeakKeyDictionary[asyncio.AbstractEventLoop, bytearray] = WeakKeyDictionary()
_for_plain_bytes: WeakKeyDictionary[asyncio.AbstractEventLoop, memoryview] = WeakKeyDictionary()


def read_buffer(loop: asyncio.AbstractEventLoop) -> memoryview:
    """The buffer that all protocols of a loop read into. Bytes are copied from it before anything else is read."""
    buffer = _for_plain_bytes.get(loop)
    if buffer is None:
        buffer = _for_plain_bytes[loop] = memoryview(bytearray(_READ_AT_ONCE))
    return buffer


class _ShortTls(sslproto.SSLProtocol):
    """asyncio's TLS protocol, with one method for each direction of what is short. It has no attributes of its own."""

    _ssl_buffer: bytearray
    _ssl_buffer_view: memoryview

    def buffer_updated(self, nbytes: int) -> None:
        it: Any = self
        if (
            nbytes > _SHORT
            or it._state is not sslproto.SSLProtocolState.WRAPPED
            or it._app_reading_paused
            or it._write_backlog
        ):
            super().buffer_updated(nbytes)
            return
        incoming = it._incoming
        incoming.write(self._ssl_buffer_view[:nbytes])
        size = 0
        try:
            buffer = it._app_protocol_get_buffer(-1)
            size = it._sslobj.read(len(buffer), buffer)
        except _AGAIN:
            if not it._outgoing.pending:
                return  # it is the beginning of a record
        except Exception as error:
            it._fatal_error(error, "Fatal error on SSL protocol")
            return
        if size:
            it._app_protocol_buffer_updated(size)
        if not size or incoming.pending or it._outgoing.pending:
            it._do_read()  # the end of the stream, more records, or something to answer to the peer

    def send(self, data: bytes) -> None:
        """What the transport's ``write`` does."""
        it: Any = self
        outgoing = it._outgoing
        if (
            it._state is sslproto.SSLProtocolState.WRAPPED
            and not it._ssl_writing_paused
            and not it._write_backlog
            and not outgoing.pending
        ):
            try:
                data = data[it._sslobj.write(data) :]
            except _AGAIN:
                pass
            except Exception as error:
                it._fatal_error(error, "Fatal error on SSL protocol")
                return
            if not data:
                it._transport.write(outgoing.read())
                return
        it._write_appdata((data,))


def share_buffer(transport: Any, loop: asyncio.AbstractEventLoop) -> Callable[[bytes], object]:
    """
    Let a transport read into the buffer of its loop from now on, and take the short way through TLS.

    :param transport: of a connection that has just been made, with its last protocol. One without TLS is left alone
    :return: what to write with
    """
    usual: Callable[[bytes], object] = transport.write
    protocol: Any = getattr(transport, "_ssl_protocol", None)
    made_by = type(protocol)
    if made_by is not sslproto.SSLProtocol:
        return usual
    own = getattr(protocol, "_ssl_buffer", None)
    if not isinstance(own, bytearray) or not isinstance(getattr(protocol, "_ssl_buffer_view", None), memoryview):
        return usual
    # The first connection's buffer becomes the loop's. asyncio may replace it by a larger one, but never resizes it.
    shared = _of_loops.setdefault(loop, own)
    protocol._ssl_buffer, protocol._ssl_buffer_view = shared, memoryview(shared)
    if not all(hasattr(protocol, name) for name in _NEEDED):
        return usual
    protocol.__class__ = _ShortTls
    short: Callable[[bytes], object] = protocol.send
    return short


def unsent(transport: asyncio.WriteTransport, last: int) -> int:
    """
    Bytes that were written to a transport, and that the kernel has not taken yet.

    A transport with TLS counts only what is not encrypted yet. The rest waits in the transport below it, which other
    loops than asyncio's (uvloop) do not show. There, all of a long write counts as unsent until the next one.

    :param last: the length of the last write, in bytes
    """
    protocol = getattr(transport, "_ssl_protocol", transport)
    if protocol is None:  # closed
        return 0
    waiting = transport.get_write_buffer_size()
    if protocol is transport and transport.get_extra_info("ssl_object") is not None:
        return max(waiting, last) if last > _TAKEN_AT_ONCE else waiting
    below = getattr(protocol, "_transport", None)
    encrypted = below.get_write_buffer_size() if isinstance(below, asyncio.WriteTransport) else 0
    return waiting + encrypted
