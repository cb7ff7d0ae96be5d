"""WrappedTransport: a transport that does some things itself, and has another transport do the rest.

:meth:`.Client.through` makes a client that uses one. It is for what concerns all requests of a client, such as counting
them, refusing some, or measuring them::

    class Counted(WrappedTransport):
        async def request(self, method: str, path: str, **request: Any) -> bytes:
            requests[method] += 1
            return await self._transport.request(method, path, **request)

    counted = client.through(Counted)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kinformer.client.transport import Transport

__all__ = ("WrappedTransport",)


class WrappedTransport:
    """
    Passes everything on to a transport. A subclass overrides what it does itself.

    :param transport: the one that it wraps
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
