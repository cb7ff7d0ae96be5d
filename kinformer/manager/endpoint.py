"""The endpoint: where a probe asks whether the process is well, and Prometheus what it has to tell.

``/healthz`` and ``/livez`` answer as long as the event loop turns and the process is well, ``/readyz`` while every
controller's caches are complete and follow the server, ``/metrics`` with all metrics of the process.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping

import anyio

from kinformer.logs import get_logger

__all__ = ("Endpoint", "EndpointError")

log = get_logger(__name__)


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

        app = web.Application()
        app.add_routes(
            [
                web.get("/healthz", well),
                web.get("/livez", well),
                web.get("/readyz", ready),
                web.get("/metrics", metrics),
            ]
        )
        runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=0.2)
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
