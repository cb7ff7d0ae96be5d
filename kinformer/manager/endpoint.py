"""The manager's HTTP endpoint, for health probes and for Prometheus.

``/healthz``, ``/livez`` and ``/readyz`` answer like those of Kubernetes' components. ``/metrics`` has all metrics of
the process. Other parts of the manager add routes of their own.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import anyio
from prometheus_client import REGISTRY
from prometheus_client.registry import Collector

from kinformer.client import Client
from kinformer.clock import Clock
from kinformer.logs import get_logger
from kinformer.manager.health import PING, HealthCheck, HealthChecks
from kinformer.manager.inspection import PAGE_PATHS, Inspected
from kinformer.manager.serving import SecureServing, StatusPages
from kinformer.manager.serving.access import Access
from kinformer.manager.serving.certificates import CertificateError, ServingCertificate
from kinformer.options import OptionError

if TYPE_CHECKING:
    from aiohttp import web
    from aiohttp.typedefs import Handler, Middleware

__all__ = ("Endpoint", "EndpointError", "RouteGroup", "make_endpoint")

log = get_logger(__name__)


#: Returns the routes of another part of the manager. It is called when the server starts, so that aiohttp's server is
#: not imported before.
RouteGroup: TypeAlias = "Callable[[], Iterable[web.AbstractRouteDef]]"


class EndpointError(Exception):
    """The endpoint cannot listen on its address, or has no usable certificate."""


class Endpoint:
    """
    A small HTTP server.

    :param livez: the checks of ``/livez`` and ``/healthz``: failures that a restart would mend
    :param readyz: the checks of ``/readyz``
    :param host: the address to listen on
    :param port: 0 for any free port. :attr:`port` has its number once the server listens
    :param certificate: the serving certificate; None for plain HTTP
    :param access: the access rules; None: everybody may read everything
    :param pages: the contents of ``/statusz``, ``/flagz`` and ``/configz``; None: these pages are not served
    :param metrics: the metrics of ``/metrics``; by default all of the process
    """

    def __init__(
        self,
        livez: Sequence[HealthCheck] = (PING,),
        readyz: Sequence[HealthCheck] = (PING,),
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        certificate: ServingCertificate | None = None,
        access: Access | None = None,
        pages: StatusPages | None = None,
        metrics: Collector = REGISTRY,
    ) -> None:
        self._pages = pages
        self._metrics = metrics
        self._certificate = certificate
        self._access = access
        self._health = [HealthChecks("healthz", livez), HealthChecks("livez", livez), HealthChecks("readyz", readyz)]
        self.host = host
        self.port = port
        self.listening = anyio.Event()
        self._groups: list[RouteGroup] = []

    def add_routes(self, group: RouteGroup) -> None:
        """
        Serve further routes. The access rules of the endpoint hold for them, too.

        A handler is cancelled when its client has gone, and when the endpoint ends. :meth:`run` waits until it has
        ended.

        :param group: returns the routes. It has to import ``aiohttp.web`` itself
        :raises RuntimeError: if the endpoint listens already
        """
        if self.listening.is_set():
            raise RuntimeError("the endpoint listens already: add routes before it runs")
        self._groups.append(group)

    async def run(self) -> None:
        """
        Serve until cancelled.

        :raises EndpointError: if it cannot listen on the port, or the certificate cannot be loaded
        """
        # Imported here: aiohttp's server is half of aiohttp, and most processes do not need it.
        from aiohttp import web

        from kinformer.manager.serving.listening import app_runner, listen
        from kinformer.manager.serving.routes import access_rules, health_routes, metrics_routes, status_routes

        tls = self._tls()
        at_work = _AtWork()
        rules = [access_rules(self._access)] if self._access is not None else []
        app = web.Application(middlewares=[at_work.counted(), *rules])
        for checks in self._health:
            app.add_routes(health_routes(checks))
        app.add_routes(metrics_routes(self._metrics))
        if self._pages is not None:
            app.add_routes(status_routes(self._pages))
        for group in self._groups:
            app.add_routes(group())
        try:
            async with app_runner(app) as runner:
                try:
                    self.port = await listen(runner, self.host, self.port, tls)
                except OSError as error:
                    raise EndpointError(f"cannot serve metrics on {error}") from error
                self.listening.set()
                log.info("endpoint_listening", host=self.host, port=self.port, tls=tls is not None)
                if self._certificate is not None:
                    await self._certificate.run()
                await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await at_work.wait_none()

    def _tls(self) -> ssl.SSLContext | None:
        if self._certificate is None:
            return None
        try:
            return self._certificate.context()
        except CertificateError as error:
            raise EndpointError(f"cannot serve metrics on {self.host}:{self.port}: {error}") from error


def make_endpoint(
    checks: tuple[Sequence[HealthCheck], Sequence[HealthCheck]],
    address: tuple[str, int],
    pages: StatusPages,
    inspector: Inspected,
    secure: SecureServing | None,
    client: Client | None,
    clock: Clock,
    metrics: Collector = REGISTRY,
) -> Endpoint:
    """
    Make the endpoint of a manager or a fleet.

    :param checks: those of ``/livez`` and those of ``/readyz``
    :param inspector: makes the data of the page
    :param secure: TLS and access rules; None: plain HTTP, and everybody may read
    :param client: for reviews of access, if `secure` has no client for them
    :raises OptionError: if reviews are needed and there is no client for them
    """
    certificate = access = None
    if secure is not None:
        reviewer = secure.authorization or client
        if reviewer is None:
            raise OptionError("a secure endpoint needs a client for reviews of access: give one in SecureServing")
        certificate = ServingCertificate(
            cert_file=secure.cert_file,
            key_file=secure.key_file,
            host=address[0],
            tls=secure.tls,
            clock=clock,
        )
        # The reviews are writes, and a follower makes them, too. So their client is not guarded.
        allowed = (*secure.always_allow, *PAGE_PATHS)
        access = Access(reviewer, allowed, clock, tokens=secure.authentication, kept=secure.kept)
    endpoint = Endpoint(*checks, *address, certificate=certificate, access=access, pages=pages, metrics=metrics)

    def routes() -> Iterable[web.AbstractRouteDef]:
        # Imported here: aiohttp's server is half of aiohttp, and most processes do not need it.
        from kinformer.manager.inspection.routes import inspection_routes

        return inspection_routes(inspector)

    endpoint.add_routes(routes)
    return endpoint


class _AtWork:
    """Counts the running handlers. aiohttp cancels them at the end, but does not wait until they have ended."""

    def __init__(self) -> None:
        self._handlers = 0
        self._none = anyio.Event()
        self._none.set()

    def counted(self) -> Middleware:
        """The middleware that counts every request."""
        from aiohttp import web

        @web.middleware
        async def count(request: web.Request, handler: Handler) -> web.StreamResponse:
            if not self._handlers:
                self._none = anyio.Event()
            self._handlers += 1
            try:
                return await handler(request)
            finally:
                self._handlers -= 1
                if not self._handlers:
                    self._none.set()

        return count

    async def wait_none(self) -> None:
        await self._none.wait()
