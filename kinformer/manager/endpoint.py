"""The endpoint: where a probe asks whether the process is well, and Prometheus what it has to tell.

``/healthz`` and ``/livez`` answer as long as the event loop turns and the process is well, ``/readyz`` while every
controller's caches are complete and follow the server, ``/metrics`` with all metrics of the process.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, TypeAlias

import anyio

from kinformer.logs import get_logger

if TYPE_CHECKING:
    from aiohttp import web
    from aiohttp.typedefs import Handler, Middleware

__all__ = ("Endpoint", "EndpointError", "RouteGroup")

log = get_logger(__name__)


#: Routes of another part of the manager, asked for when the server starts: only then is aiohttp's server imported.
RouteGroup: TypeAlias = "Callable[[], Iterable[web.AbstractRouteDef]]"


class EndpointError(Exception):
    """The endpoint cannot listen where it was told to."""


class Endpoint:
    """
    A small HTTP server.

    :param checks: for ``/readyz``, by name: whether that part is ready
    :param port: 0 for any that is free; :attr:`port` has it once the server listens
    :param health: for ``/healthz`` and ``/livez``, by name: whether that part is well
    """

    def __init__(
        self,
        checks: Mapping[str, Callable[[], bool]],
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        health: Mapping[str, Callable[[], bool]] | None = None,
    ) -> None:
        self._checks = checks
        self._health = health or {}
        self.host = host
        self.port = port
        self.listening = anyio.Event()
        self._groups: list[RouteGroup] = []

    def add_routes(self, group: RouteGroup) -> None:
        """
        Serve these routes as well. They stand behind the same access rules as the endpoint's own.

        A handler is cancelled when its client is gone, and when the endpoint ends; :meth:`run` waits for its end.

        :param group: gives the routes; a function that imports ``aiohttp.web`` itself
        :raises RuntimeError: if the endpoint listens already
        """
        if self.listening.is_set():
            raise RuntimeError("the endpoint listens already: add routes before it runs")
        self._groups.append(group)

    async def run(self) -> None:
        """
        Serve until cancelled.

        :raises EndpointError: if the port is taken, or not to be had
        """
        # Imported here: half of aiohttp is its server, and most processes have no use for it.
        from aiohttp import web
        from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

        async def well(_: web.Request) -> web.Response:
            return _answer(self._health, "not well")

        async def ready(_: web.Request) -> web.Response:
            return _answer(self._checks, "not ready")

        def _answer(checks: Mapping[str, Callable[[], bool]], otherwise: str) -> web.Response:
            failing = [name for name, check in checks.items() if not check()]
            lines = [f"[{'-' if name in failing else '+'}]{name}" for name in checks]
            return web.Response(
                text="\n".join([*lines, otherwise if failing else "ok"]), status=503 if failing else 200
            )

        async def metrics(_: web.Request) -> web.Response:
            return web.Response(body=generate_latest(), headers={"Content-Type": CONTENT_TYPE_LATEST})

        at_work = _AtWork()
        app = web.Application(middlewares=[at_work.counted()])
        app.add_routes(
            [
                web.get("/healthz", well),
                web.get("/livez", well),
                web.get("/readyz", ready),
                web.get("/metrics", metrics),
            ]
        )
        for group in self._groups:
            app.add_routes(group())
        # A handler whose client is gone is cancelled: one that streams would not notice, and aiohttp forgets it.
        runner = web.AppRunner(
            app, access_log=None, handle_signals=False, handler_cancellation=True, shutdown_timeout=0.2
        )
        try:
            await runner.setup()
            site = web.TCPSite(runner, self.host, self.port)
            try:
                await site.start()
            except OSError as error:
                why = "the port is in use" if error.errno == errno.EADDRINUSE else error.strerror
                raise EndpointError(f"cannot serve metrics on {self.host}:{self.port}: {why}") from error
            self.port = runner.addresses[0][1]
            self.listening.set()
            log.info("endpoint_listening", host=self.host, port=self.port)
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await runner.cleanup()
                await at_work.wait_none()


class _AtWork:
    """Counts the handlers that run: aiohttp cancels them at the end, and does not wait until they have ended."""

    def __init__(self) -> None:
        self._handlers = 0
        self._none = anyio.Event()
        self._none.set()

    def counted(self) -> Middleware:
        """The middleware through which every request goes."""
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
