"""Session: what aiohttp may do for WebSockets, and what it must not do by itself.

aiohttp's defaults are made for reading web pages. It sends a request again if the connection broke. It follows the
redirect of a WebSocket and takes the caller's headers along. It takes an answer with many headers for a broken one. So
every default that matters is set here and in :mod:`kinformer.client.connection`, and no other version and no other
installed package changes it. `docs/client.md` lists the choices with their reasons.
"""

from __future__ import annotations

from typing import Final

import aiohttp

from kinformer.client.connection import CONNECT_TIMEOUT, Connector
from kinformer.client.websocket import check_upgraded

__all__ = ("SentOnce", "new_websocket_session")

#: Limits of a response's head. An API server may send 4,096 characters of warnings, each in a header of its own, or
#: all in one. aiohttp's own limits (8,190 bytes, 128 headers) would lose the answer to a write that has been made.
_MAX_FIELD: Final = 2**15
_MAX_HEADERS: Final = 4200


class SentOnce(aiohttp.ClientConnectionError):
    """
    The connection broke after a request was sent. aiohttp does not know this error, so it does not send it again.

    :param error: what aiohttp raised
    """

    def __init__(self, error: Exception):
        super().__init__(str(error))
        self.error = error


def new_websocket_session(connector: Connector) -> aiohttp.ClientSession:
    """The session for WebSockets. It uses a connector of others, and reads the body of a refusal."""
    return aiohttp.ClientSession(
        connector=connector,
        connector_owner=False,
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT),
        middlewares=(_open_here, _send_once),
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        raise_for_status=False,
        trust_env=False,
        max_line_size=_MAX_FIELD,
        max_field_size=_MAX_FIELD,
        max_headers=_MAX_HEADERS,
    )


async def _send_once(request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
    """
    Send a request once. aiohttp would repeat GET, PUT and DELETE, although a write may have taken effect.

    :raises SentOnce: if the connection broke
    """
    try:
        return await handler(request)
    except aiohttp.ClientConnectorError:
        raise
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        raise SentOnce(error) from error


async def _open_here(request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
    """
    Open a WebSocket at the server that was asked. aiohttp would follow redirects, and has no option against it.

    :raises UpgradeRefused: if the answer is an error
    :raises ClientError: if it is a redirect, or another success
    """
    response = await handler(request)
    await check_upgraded(response)
    return response
