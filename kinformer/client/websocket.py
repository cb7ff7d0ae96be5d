"""WebSocket: messages on numbered channels, as the API server and kubelets send them.

The first byte of a message is its channel. :meth:`Transport.upgrade` opens a socket. The meaning of the channels is
known to :mod:`kinformer.client.remote_command` and :mod:`kinformer.client.port_forward`.

A peer that ends a connection sends a close frame. A connection that ends without one was cut. That is an error here,
although aiohttp itself treats it as an end.
"""

from __future__ import annotations

from typing import Final

import aiohttp
import anyio

from kinformer.client.answers import check_encoding
from kinformer.client.causes import BROKEN, cause_of
from kinformer.client.errors import ClientError, ConnectionLost

__all__ = ("UpgradeRefused", "WebSocket", "check_upgraded")

_SWITCHED: Final = 101
_REFUSED: Final = 400
#: The most bytes of a refusal that are read.
_MAX_REFUSAL: Final = 2**20


class UpgradeRefused(Exception):
    """
    A server answered a request for a WebSocket and did not open one.

    :param data: the body of its response
    """

    def __init__(self, response: aiohttp.ClientResponse, data: bytes):
        super().__init__(f"the server answered {response.status}")
        self.response = response
        self.data = data


async def check_upgraded(response: aiohttp.ClientResponse) -> None:
    """
    Read the response of a server that opens no WebSocket. aiohttp would drop its body.

    :raises UpgradeRefused: if it is an error response
    :raises ClientError: if it is a success, as if no WebSocket had been requested
    """
    if response.status == _SWITCHED:
        return
    if response.status < _REFUSED:
        response.close()
        raise ClientError(f"{response.url} was to open a WebSocket, and answered {response.status}")
    data = b""
    try:
        check_encoding(response, compressed=False)
        async for piece in response.content.iter_any():
            data += piece
            if len(data) > _MAX_REFUSAL:
                break
    finally:
        response.close()
    raise UpgradeRefused(response, data)


class WebSocket:
    """
    One open WebSocket. Only one task may read; several may write.

    :param url: the URL that it was opened with
    """

    __slots__ = ("_socket", "url")

    def __init__(self, socket: aiohttp.ClientWebSocketResponse, url: str):
        self._socket = socket
        self.url = url

    @property
    def protocol(self) -> str:
        """The protocol that the server picked; empty if it picked none."""
        return self._socket.protocol or ""

    async def send(self, channel: int, data: bytes) -> None:
        """
        Send a message; wait while the peer does not read.

        :raises ConnectionLost: if the connection is closed
        """
        try:
            await self._socket.send_bytes(bytes((channel,)) + data)
        except BROKEN as error:
            raise ConnectionLost(self.url, cause_of(error)) from error

    async def receive(self) -> tuple[int, bytes] | None:
        """
        The next message: its channel and its data. None once the peer has closed the connection.

        :raises ConnectionLost: if the connection was cut
        """
        while True:
            message = await self._socket.receive()
            match message.type:
                case aiohttp.WSMsgType.BINARY:
                    data: bytes = message.data
                case aiohttp.WSMsgType.TEXT:
                    data = message.data.encode()
                case aiohttp.WSMsgType.CLOSE:
                    return None
                case aiohttp.WSMsgType.ERROR if isinstance(message.data, BaseException):
                    raise ConnectionLost(self.url, cause_of(message.data)) from message.data
                case _:
                    cause = self._socket.exception()
                    raise ConnectionLost(self.url, "it was cut" if cause is None else cause_of(cause)) from cause
            if data:
                return data[0], data[1:]

    async def close(self) -> None:
        """Close the connection, also when cancelled. Closing it again has no effect."""
        with anyio.CancelScope(shield=True):
            await self._socket.close()
