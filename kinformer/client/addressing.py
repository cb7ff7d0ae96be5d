"""Addressing: what the requests of an identity are sent with: their headers, and the way to the server.

All of it is made anew when the identity changes: a token or a certificate was renewed. Between two renewals, a request
finds the bytes of its headers ready.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from typing import Any, Final

from multidict import CIMultiDict
from yarl import URL

from kinformer.client.config import Endpoint
from kinformer.client.connection import Connections, Fields, Route, Way
from kinformer.client.credentials import Identity, checked_header
from kinformer.client.errors import ConfigError
from kinformer.client.options import ClientOptions

__all__ = ("Addressing",)

#: Most requests have no headers of their own, or one of a few media types.
_MOST_FIELDS: Final = 64


class Addressing:
    """
    The headers and the way of a client's requests.

    :raises ConfigError: if a header cannot be sent
    """

    def __init__(self, endpoint: Endpoint, options: ClientOptions):
        self._endpoint = endpoint
        # Not headers of a session: aiohttp sends those to proxies too, and to the targets of redirects.
        self._headers = CIMultiDict(
            {
                "Accept": "application/json",
                "Accept-Encoding": "gzip" if options.compression else "identity",
                "User-Agent": options.user_agent or _user_agent(),
            }
        )
        for name, value in endpoint.impersonation.headers():
            self._headers.add(name, _checked(name, value))
        for name, value in options.headers.items():
            self._headers[name] = _checked(name, value)
        self._made_for: Identity | None = None
        self._own_headers = self._headers
        self._way = Way(URL())
        self._route: Route | None = None
        self._fields: dict[tuple[tuple[str, str], ...], Fields] = {}

    def route(self, identity: Identity, connections: Connections) -> Route:
        """The connections that an identity's requests use."""
        if identity is not self._made_for:
            self._make_for(identity)
        if self._route is None:
            self._route = connections.route(self._way)
        return self._route

    def fields(self, identity: Identity, headers: Mapping[str, str] | None, route: Route) -> Fields:
        """
        A request's headers, ready to be sent.

        :param headers: the request's own, which replace others of the same name
        :raises ConfigError: if a header cannot be sent
        """
        if identity is not self._made_for:
            self._make_for(identity)
        key = tuple(headers.items()) if headers else ()
        fields = self._fields.get(key)
        if fields is None:
            if len(self._fields) > _MOST_FIELDS:
                self._fields.clear()
            fields = self._fields[key] = route.fields(self.headers(identity, headers))
        return fields

    def headers(self, identity: Identity, headers: Mapping[str, str] | None) -> CIMultiDict[str]:
        """
        The headers of a request.

        :param headers: the request's own, which replace others of the same name
        """
        if identity is not self._made_for:
            self._make_for(identity)
        own = self._own_headers.copy()
        own.update(headers or {})
        return own

    def for_aiohttp(self, identity: Identity) -> dict[str, Any]:
        """The way, as the options of aiohttp for a WebSocket."""
        if identity is not self._made_for:
            self._make_for(identity)
        _, tls, server_hostname, proxy = self._way
        options = {"ssl": tls, "server_hostname": server_hostname, "proxy": proxy}
        return {name: value for name, value in options.items() if value is not None}

    def _make_for(self, identity: Identity) -> None:
        endpoint = self._endpoint
        self._own_headers = self._headers.copy()
        if identity.header and "Authorization" not in self._headers:
            self._own_headers["Authorization"] = identity.header
        # Open connections keep the context that they were made with.
        tls = identity.tls or endpoint.tls
        self._way = Way(URL(endpoint.server).origin(), tls, endpoint.server_hostname or None, endpoint.proxy or None)
        self._route = None
        self._fields = {}
        self._made_for = identity


def _checked(name: str, value: str) -> str:
    try:
        return checked_header(value)
    except ConfigError:
        raise ConfigError(f"the header {name!r} cannot be sent: want no line break or control character") from None


@cache
def _user_agent() -> str:
    return f"kinformer/{version('kinformer')} ({sys.platform}) python/{sys.version_info[0]}.{sys.version_info[1]}"
