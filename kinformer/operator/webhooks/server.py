"""The HTTPS server that answers the reviews of API servers.

Each webhook has its own path, and conversions are at ``/convert``. ``/livez`` answers as long as the event loop runs.
``/readyz`` and ``/healthz`` answer with 200, or with 503 and the reason. If the body of a request is not a review, the
answer is a Status. For the API server this is a failure of the webhook, so the failure policy decides. The same happens
if a function raises anything other than :exc:`Denied`, or takes longer than the API server waits.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol

import anyio

from kinformer.clock import Clock, RealClock, move_on_after
from kinformer.logs import get_logger
from kinformer.operator.webhooks.calls import Calls
from kinformer.operator.webhooks.certificates import Certificate
from kinformer.operator.webhooks.reviews import (
    BadReview,
    ConversionRequest,
    RawRequest,
    Refusal,
    read_admission,
    read_conversion,
    read_timeout,
    status,
)

if TYPE_CHECKING:
    from aiohttp import web

__all__ = ("BODY_LIMIT", "CONVERT_PATH", "Answers", "WebhookServer", "WebhookServerError")

log = get_logger(__name__)

#: The largest size of a review in bytes. It has room for two of the largest objects that kube-apiserver accepts (the
#: old and the new one), and for the rest of the review.
BODY_LIMIT: Final = 7 * 1024 * 1024

CONVERT_PATH: Final = "/convert"

#: Seconds for a decision if the API server does not say how long it waits, and seconds to receive the body.
_TIMEOUT, _BODY_TIMEOUT = 10.0, 10.0

_JSON: Final = "application/json"


class WebhookServerError(Exception):
    """The server cannot listen."""


class Answers(Protocol):
    """Answers reviews: a :class:`~kinformer.operator.webhooks.Webhooks`, or an object with the same methods."""

    @property
    def paths(self) -> Collection[str]:
        """The URL paths of admission reviews."""

    @property
    def converts(self) -> bool:
        """Whether it answers conversion reviews."""

    async def answer_admission(self, path: str, asked: RawRequest, seconds: float = ..., /) -> bytes:
        """
        Answer an admission review.

        :param seconds: how long the API server waits
        """

    def answer_conversion(self, asked: ConversionRequest, /) -> bytes:
        """Answer a conversion review."""


async def _nothing_wrong() -> str:
    return ""


class WebhookServer:
    """
    Serves webhooks over HTTPS.

    :param webhooks: answers the reviews
    :param certificate: the serving certificate; None for plain HTTP, behind a proxy or in tests
    :param host: the address to listen on
    :param port: 0 for any free port. :attr:`port` has its number once the server listens
    :param trouble: returns why the server is not ready, for ``/readyz``; empty if it is
    :param clock: for time limits
    :ivar listening: is set once the server listens
    :ivar calls: the metrics of each path
    """

    #: The largest size of a review in bytes.
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
        paths = [*webhooks.paths, CONVERT_PATH] if webhooks.converts else webhooks.paths
        self.calls = {path: Calls(path, self._clock) for path in paths}

    async def run(self) -> None:
        """
        Serve until cancelled. If an API server closes its connection, its request is cancelled.

        :raises WebhookServerError: if the server cannot listen on the port
        :raises CertificateError: if there is no usable certificate
        """
        from aiohttp import web

        from kinformer.manager.serving.listening import app_runner

        app = web.Application(client_max_size=self.body_limit)
        app.add_routes([web.post(path, self._decide) for path in self._webhooks.paths])
        app.add_routes([web.get(path, self._health) for path in ("/healthz", "/readyz")])
        app.add_routes([web.get("/livez", self._live)])
        if self._webhooks.converts:
            app.add_routes([web.post(CONVERT_PATH, self._convert)])
        # API servers do not compress reviews. A compressed body is refused without unpacking it.
        async with app_runner(app, auto_decompress=False) as runner:
            await self.serve(runner)

    async def serve(self, runner: web.AppRunner) -> None:
        """
        Listen, and keep the certificate up to date, until cancelled.

        A subclass may override this to listen in another way, or with another kind of certificate.
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
        """Set :attr:`listening`, and log it."""
        self.listening.set()
        log.info("webhooks_listening", host=self.host, port=self.port, paths=sorted(self._webhooks.paths))

    def refusal(self, client: Mapping[str, Any] | None) -> str:
        """
        Why a client is not allowed to send requests; empty if it is. A subclass that checks its clients overrides this.

        :param client: the client's certificate, as :meth:`ssl.SSLSocket.getpeercert` returns it; None if it has none
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
        calls = self.calls[http.path]
        with calls.timed():
            response = await self._response(http, answer)
        calls.answered(response.status)
        if isinstance(response.body, Refusal):
            calls.refuse()
        return response

    async def _response(self, http: web.Request, answer: Callable[[bytes, float], Awaitable[bytes]]) -> web.Response:
        from aiohttp import web

        if why := self.refusal(http.transport.get_extra_info("peercert") if http.transport is not None else None):
            return _status(403, "Forbidden", why)
        encoding = http.headers.get("Content-Encoding", "identity")
        if encoding.lower() != "identity":
            return _status(
                415, "UnsupportedMediaType", f"the body is encoded ({encoding[:40]!r}): want it without encoding"
            )
        try:
            body = await self._body(http)
            if body is None:
                return _status(408, "Timeout", f"the request body did not come within {_BODY_TIMEOUT:g} s")
            seconds = read_timeout(http.query.get("timeout", ""), _TIMEOUT)
            with move_on_after(self._clock, seconds):
                return web.Response(body=await answer(body, seconds), content_type=_JSON)
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
        Read the body of a request; None if it does not arrive in time.

        :raises HTTPRequestEntityTooLarge: if it is too large
        """
        if http.content.is_eof():
            return await http.read()
        with move_on_after(self._clock, _BODY_TIMEOUT):
            return await http.read()
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
