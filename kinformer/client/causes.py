"""Causes: describes a broken connection in as few words as the system has for it."""

from __future__ import annotations

import asyncio
import os
import ssl
from typing import Final

import aiohttp

from kinformer.client.proxies import without_password

__all__ = ("BROKEN", "NOT_CONNECTED", "NoTunnel", "cause_of", "is_of_tls", "why_not_connected")

#: What aiohttp raises if there is no response, or only a part of one.
BROKEN: Final = (aiohttp.ClientError, OSError, TimeoutError)


class NoTunnel(aiohttp.ClientConnectionError):
    """A proxy did not make a tunnel. It closed the connection, or answered something that is not HTTP."""


#: The errors of :data:`BROKEN` that it raises if there was no connection to the server.
NOT_CONNECTED: Final = (
    aiohttp.ClientConnectorError,
    aiohttp.ConnectionTimeoutError,
    aiohttp.ClientHttpProxyError,
    aiohttp.InvalidURL,
    NoTunnel,
)


def why_not_connected(error: Exception, proxy: str | None) -> BaseException | str:
    """
    Describe why there was no connection.

    :param proxy: the URL of the proxy that was used, None if there was none
    """
    shown = without_password(proxy or "")
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return f"the proxy at {shown} answered {error.status} {error.message}"
    if isinstance(error, NoTunnel):
        return f"the proxy at {shown} {error}"
    if isinstance(error, aiohttp.ClientProxyConnectionError | aiohttp.ClientConnectorDNSError) and proxy:
        # With a proxy, it is the proxy whose name was looked up.
        return f"no connection to the proxy at {shown}: {cause_of(error)}"
    return cause_of(error)


def cause_of(error: BaseException) -> BaseException | str:
    """The error to show: the operating system's one where there is one, without the code around it."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return f"its certificate is not trusted: {error.certificate_error}"
    inner: BaseException = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    if isinstance(inner, ssl.SSLError) and "WRONG_VERSION_NUMBER" in str(inner):
        return "it does not speak TLS there: want http:// for https://, or another port"
    if isinstance(inner, aiohttp.ServerDisconnectedError):
        return "it was closed without an answer"
    if isinstance(inner, asyncio.TimeoutError) and not str(inner):
        return "no answer in time"
    if isinstance(inner, OSError) and not isinstance(inner, ssl.SSLError) and inner.errno and inner.strerror:
        words = os.strerror(inner.errno) if inner.errno > 0 else inner.strerror  # negative numbers are the resolver's
        return _SystemError(inner.errno, words)
    return inner


def is_of_tls(error: BaseException) -> bool:
    """Whether the connection failed because client or server rejected the other's certificate."""
    if isinstance(error, (aiohttp.ClientSSLError, ssl.SSLError)):
        return True
    return any(isinstance(one, ssl.SSLError) for one in (error.__cause__, error.__context__))


class _SystemError(OSError):
    """An error of the operating system that is shown as its text alone, without its number."""

    def __str__(self) -> str:
        return str(self.strerror)
