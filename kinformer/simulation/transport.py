"""The transports of a simulated world: requests go to the server directly, or by HTTP over connections in memory."""

from __future__ import annotations

from typing import Any, Final

import anyio.lowlevel

from kinformer.client import ClientOptions, endpoint_from_url
from kinformer.client.connection import Connections
from kinformer.client.transport import Transport
from kinformer.clock import Clock
from kinformer.meta.requests import about
from kinformer.simulation.direct import DirectConnections
from kinformer.simulation.network import Network

__all__ = ("SimulatedTransport",)

_EVENTS: Final = ("events", "events.events.k8s.io")


# More than 15 fields: two beside those of the transport that it stands for.
class SimulatedTransport(Transport):
    """
    A transport of a simulated process, or of the user.

    :param url: the URL of the API server
    :param token: the bearer token
    :param agent: the name in the header User-Agent
    :param network: where direct requests find their servers; None for HTTP
    :param sends_events: whether Events are sent. If not, a request that writes one gets its own body as the response
    """

    def __init__(
        self, url: str, token: str, agent: str, *, clock: Clock, network: Network | None, sends_events: bool = True
    ) -> None:
        super().__init__(endpoint_from_url(url, token=token), ClientOptions(user_agent=agent, lazy=True), clock=clock)
        self._network = network
        self._sends_events = sends_events

    def _new_connections(self) -> Connections:
        return Connections(self.clock) if self._network is None else DirectConnections(self.clock, self._network)

    async def request(self, method: str, path: str, **more: Any) -> bytes:
        if not self._sends_events and method in ("POST", "PATCH") and about(method, path).resource in _EVENTS:
            await anyio.lowlevel.checkpoint()
            body: bytes = more["body"]
            return body
        return await super().request(method, path, **more)
