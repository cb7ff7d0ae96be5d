"""TLS buffer: one buffer for the encrypted bytes of all connections of an event loop.

asyncio gives each TLS connection a buffer of 256 KiB, into which it reads from the socket. A manager with all
controllers has some ninety connections, most of them watches on which nothing happens: 24 MiB of memory. One buffer is
enough, because asyncio copies the bytes out of it before it reads from another socket of the same loop.

There is no public way to do this. The private parts are a transport's ``_ssl_protocol``, and the protocol's
``_ssl_buffer`` and ``_ssl_buffer_view``. If a version of asyncio or another loop lacks them, each connection keeps a
buffer of its own, and a test fails. All uses of asyncio's private parts are here.
"""

from __future__ import annotations

import asyncio
from asyncio import sslproto
from weakref import WeakKeyDictionary

__all__ = ("share_buffer",)

#: Each loop has its own: another loop may run in another thread.
_of_loops: WeakKeyDictionary[asyncio.AbstractEventLoop, bytearray] = WeakKeyDictionary()


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
