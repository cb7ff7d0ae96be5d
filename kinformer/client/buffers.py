"""Buffers: what all connections of an event loop read into, one for encrypted bytes and one for plain ones.

asyncio gives each TLS connection a buffer of 256 KiB, into which it reads from the socket. A manager with all
controllers has some ninety connections, most of them watches on which nothing happens: 24 MiB of memory. One buffer is
enough, because asyncio copies the bytes out of it before it reads from another socket of the same loop.

For what it has decrypted, asyncio allocates 256 KiB for each read, unless a protocol has a buffer for it. An API server
sends at least one record for each event of a watch. If each event is a record of its own, an event of 5.7 KB is
decrypted in 5.8 µs instead of 8.8. In records of 16 KiB it takes 3.1 instead of 6.1. OpenSSL's AES-GCM takes 1.8 µs of
these.

There is no public way to share the buffer for encrypted bytes. The private parts are a transport's ``_ssl_protocol``,
and the protocol's ``_ssl_buffer`` and ``_ssl_buffer_view``. If a version of asyncio or another loop lacks them, each
connection keeps a buffer of its own, and a test fails. The protocol's ``_transport`` is used to count unsent bytes. All
uses of asyncio's private parts are here.
"""

from __future__ import annotations

import asyncio
from asyncio import sslproto
from typing import Final
from weakref import WeakKeyDictionary

__all__ = ("read_buffer", "share_buffer", "unsent")

#: Bytes: as much as asyncio reads from a socket at once, and a record before that of which only a part had come.
_READ_AT_ONCE: Final = 2**18 + 2**15

#: Each loop has its own: another loop may run in another thread, and decryption releases the GIL.
_of_loops: WeakKeyDictionary[asyncio.AbstractEventLoop, bytearray] = WeakKeyDictionary()
_for_plain_bytes: WeakKeyDictionary[asyncio.AbstractEventLoop, memoryview] = WeakKeyDictionary()


def read_buffer(loop: asyncio.AbstractEventLoop) -> memoryview:
    """The buffer that all protocols of a loop read into. Bytes are copied from it before anything else is read."""
    buffer = _for_plain_bytes.get(loop)
    if buffer is None:
        buffer = _for_plain_bytes[loop] = memoryview(bytearray(_READ_AT_ONCE))
    return buffer


def share_buffer(transport: asyncio.BaseTransport, loop: asyncio.AbstractEventLoop) -> bool:
    """
    Let a transport read into the buffer of its loop from now on.

    :param transport: of a connection that has just been made. One without TLS is left alone
    :return: whether it does
    """
    protocol = getattr(transport, "_ssl_protocol", None)
    if type(protocol) is not sslproto.SSLProtocol:
        return False
    own = getattr(protocol, "_ssl_buffer", None)
    if not isinstance(own, bytearray) or not isinstance(getattr(protocol, "_ssl_buffer_view", None), memoryview):
        return False
    # The first connection's buffer becomes the loop's. asyncio may replace it by a larger one, but never resizes it.
    shared = _of_loops.setdefault(loop, own)
    protocol._ssl_buffer = shared  # type: ignore[attr-defined]  # checked above
    protocol._ssl_buffer_view = memoryview(shared)  # type: ignore[attr-defined]
    return True


def unsent(transport: asyncio.WriteTransport) -> int:
    """
    Bytes that were written to a transport, and that the kernel has not taken yet.

    A transport with TLS counts only what is not encrypted yet. The rest waits in the transport below it.
    """
    protocol = getattr(transport, "_ssl_protocol", transport)
    if protocol is None:  # closed
        return 0
    below = getattr(protocol, "_transport", None)
    encrypted = below.get_write_buffer_size() if isinstance(below, asyncio.WriteTransport) else 0
    return transport.get_write_buffer_size() + encrypted
