"""The HTTPS server that API servers send their reviews to.

Each webhook is asked at its own path, conversions at ``/convert``. ``/livez`` answers as long as the event loop turns;
``/readyz`` and ``/healthz`` say 200, or 503 and why. A body that is no review gets a Status, which an API server takes
for a failure of the webhook: its failure policy then decides. So it is with a function that raises something else than
:exc:`Denied`, or that takes longer than the API server waits.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol

import anyio

from kinformer.clock import Clock, RealClock
from kinformer.logs import get_logger
from kinformer.operator.webhooks.certificates import Certificate
from kinformer.operator.webhooks.reviews import (
    BadReview,
    ConversionRequest,
    RawRequest,
    read_admission,
    read_conversion,
    read_timeout,
    status,
)

if TYPE_CHECKING:
    from aiohttp import web

__all__ = ("BODY_LIMIT", "CONVERT_PATH", "Answers", "WebhookServer", "WebhookServerError")

log = get_logger(__name__)

#: Bytes of a review at most: what kube-apiserver itself takes of an object, twice, and what is around it.
BODY_LIMIT: Final = 7 * 1024 * 1024

CONVERT_PATH: Final = "/convert"

#: Seconds that an API server waits if it does not say so, and in which a body has to come.
_TIMEOUT, _BODY_TIMEOUT = 10.0, 10.0

_JSON: Final = "application/json"


class WebhookServerError(Exception):
    """The server cannot listen."""


class Answers(Protocol):
    """What decides about reviews: :class:`~kinformer.operator.webhooks.Webhooks`, or something like it."""

    @property
    def paths(self) -> Collection[str]:
        """Where it is asked."""

    @property
    def converts(self) -> bool:
        """Whether there is something to convert."""

    async def answer_admission(self, path: str, asked: RawRequest, seconds: float = ..., /) -> bytes:
        """
        Decide.

        :param seconds: how long the API server waits
        """

    def answer_conversion(self, asked: ConversionRequest, /) -> bytes:
        """Convert objects."""


async def _nothing_wrong() -> str:
    return ""


class WebhookServer:
    """
    :param certificate: what API servers are shown; None for plain HTTP, behind a proxy or in tests
    :param port: 0 for any that is free; :attr:`port` has it once the server listens
    :param trouble: says why nothing can be decided now, ``""`` if all is well: what ``/readyz`` tells
    :ivar listening: is set once it does
    """

    #: Bytes of a review at most.
    body_limit: int = BODY_LIMIT

    def __init__(
        self,
        webhooks: Answers,
        certificate: Certificate | None,
        *,
        host: str = "0.0.0.0",  # API servers are on other machines
        port: int = 9443,
        trouble: Callable[[], Awaitable[str]] = _nothing_wrong,
        clock: Clock | None = None,
    ) -> None:
        self._webhooks = webhooks
        self._certificate = certificate
        self._trouble = trouble
        self._clock = clock or RealClock()
        self.host = host
        self.port = port
        self.listening = anyio.Event()

    async def run(self) -> None:
        """
        Serve until cancelled. A request whose API server has gone away is cancelled.

        :raises WebhookServerError: if the port is taken or not to be had
        :raises CertificateError: if there is no certificate to serve with
        """
        from aiohttp import web

        from kinformer.manager.serving.listening import app_runner

        app = web.Application(client_max_size=self.body_limit)
        app.add_routes([web.post(path, self._decide) for path in self._webhooks.paths])
        app.add_routes([web.get(path, self._health) for path in ("/healthz", "/readyz")])
        app.add_routes([web.get("/livez", self._live)])
        if self._webhooks.converts:
            app.add_routes([web.post(CONVERT_PATH, self._convert)])
        # No API server compresses a review: one that is compressed is refused, and not unpacked.
        async with app_runner(app, auto_decompress=False) as runner:
            await self.serve(runner)

    async def serve(self, runner: web.AppRunner) -> None:
        """
        Listen, and keep the certificate up to date, until cancelled.

        To be overridden by a server that has a port or certificates of its own kind.
        """
        from kinformer.manager.serving.listening import listen

        context = await self._certificate.context() if self._certificate is not None else None
        try:
            self.port = await listen(runner, self.host, self.port, context)
        except OSError as error:
            raise WebhookServerError(f"cannot serve webhooks on {error}") from error
        self.tell_listening()
        if self._certificate is not None:
            await self._certificate.run()
        await anyio.sleep_forever()

    def tell_listening(self) -> None:
        """Set :attr:`listening`, and write it to the log."""
        self.listening.set()
        log.info("webhooks_listening", host=self.host, port=self.port, paths=sorted(self._webhooks.paths))

    def refusal(self, client: Mapping[str, Any] | None) -> str:
        """
        Why somebody may not ask; empty for who may. A server that knows its clients overrides it.

        :param client: their certificate, as :meth:`ssl.SSLSocket.getpeercert` gives it; None without one
        """
        return ""

    async def _decide(self, http: web.Request) -> web.Response:
        async def decide(body: bytes, seconds: float) -> bytes:
            return await self._webhooks.answer_admission(http.path, read_admission(body), seconds)

        return await self._answer(http, decide)

    async def _convert(self, http: web.Request) -> web.Response:
        async def convert(body: bytes, seconds: float) -> bytes:
            return self._webhooks.answer_conversion(read_conversion(body))

        return await self._answer(http, convert)

    async def _answer(self, http: web.Request, answer: Callable[[bytes, float], Awaitable[bytes]]) -> web.Response:
        from aiohttp import web

        if why := self.refusal(http.transport.get_extra_info("peercert") if http.transport is not None else None):
            return _status(403, "Forbidden", why)
        encoding = http.headers.get("Content-Encoding", "identity")
        if encoding.lower() != "identity":
            return _status(415, "UnsupportedMediaType", f"the body is encoded ({encoding[:40]!r}): want it as it is")
        try:
            body = await self._body(http)
            if body is None:
                return _status(408, "Timeout", f"the request body did not come within {_BODY_TIMEOUT:g} s")
            seconds = read_timeout(http.query.get("timeout", ""), _TIMEOUT)
            with anyio.CancelScope() as deciding:
                late = self._clock.call_later(seconds, deciding.cancel)
                try:
                    return web.Response(body=await answer(body, seconds), content_type=_JSON)
                finally:
                    late.cancel()
            return _status(504, "Timeout", f"{http.path} did not answer within {seconds:g} s")
        except web.HTTPRequestEntityTooLarge:
            return _status(413, "RequestEntityTooLarge", f"the request body is larger than {self.body_limit} bytes")
        except BadReview as error:
            return _status(400, "BadRequest", str(error))
        except Exception as error:
            log.exception("webhook_failed", path=http.path)
            return _status(500, "InternalError", f"{http.path} failed: {type(error).__name__}")

    async def _body(self, http: web.Request) -> bytes | None:
        """
        The body; None if it does not come in time.

        :raises HTTPRequestEntityTooLarge: if it is too large
        """
        if http.content.is_eof():
            return await http.read()
        with anyio.CancelScope() as reading:
            late = self._clock.call_later(_BODY_TIMEOUT, reading.cancel)
            try:
                return await http.read()
            finally:
                late.cancel()
        return None

    async def _health(self, http: web.Request) -> web.Response:
        from aiohttp import web

        trouble = await self._trouble()
        return web.Response(text=trouble or "ok", status=503 if trouble else 200)

    async def _live(self, http: web.Request) -> web.Response:
        from aiohttp import web

        return web.Response(text="ok")


def _status(code: int, reason: str, message: str) -> web.Response:
    from aiohttp import web

    return web.Response(body=status(code, reason, message), status=code, content_type=_JSON)
