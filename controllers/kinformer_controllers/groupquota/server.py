"""The HTTPS server that an API server sends its AdmissionReviews to.

``/validate`` answers them, ``/healthz`` says 200 or, while nothing can be checked, 503 and why; ``/livez`` answers as
long as the event loop turns. Whoever asks to have something charged has to show a certificate, if the server knows
whose; health is told to everybody. A body that is no AdmissionReview gets a Status, which an API server takes for a
failure of the webhook: its failure policy then decides. Nothing gets an answer without a reason.
"""

from __future__ import annotations

import os
import socket
import ssl
from typing import Final

import anyio
from aiohttp import web

from kinformer.clock import Clock, RealClock
from kinformer.logs import get_logger
from kinformer.manager import OptionError
from kinformer.operator.webhooks.reviews import BadReview, allowed, denied, read_admission, read_timeout, status
from kinformer.workqueue import until
from kinformer_controllers.groupquota.certificates import TLSFiles
from kinformer_controllers.groupquota.webhook import TIMEOUT, QuotaWebhook
from kinformer_controllers.shared.quota.admission import EvaluationTimedOut, time_limit

__all__ = ("BODY_LIMIT", "LOOPBACK", "WebhookServer")

log = get_logger(__name__)

#: What kube-apiserver itself takes.
BODY_LIMIT: Final = 3 * 1024 * 1024

#: Where a server listens that lets everybody in.
LOOPBACK: Final = "127.0.0.1"

# Seconds between two looks at the files of the certificates, and until a body must have come.
_LOOK_PERIOD, _BODY_TIMEOUT = 1.0, 10.0

_JSON: Final = "application/json"


class WebhookServer:
    """
    :param tls: the server's certificate, and whose clients may ask; None for plain HTTP
    :param port: 0 for any that is free; :attr:`port` has it once the server listens
    :param listener: a socket that listens already, in place of `host` and `port`
    """

    def __init__(
        self,
        webhook: QuotaWebhook,
        tls: TLSFiles | None,
        host: str = LOOPBACK,
        port: int = 9443,
        *,
        listener: socket.socket | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._webhook = webhook
        self._tls = tls
        self._clock = clock or RealClock()
        self.host = host
        self.port = port
        self.listening = anyio.Event()
        self._stamps = tls.stamps() if tls is not None else ()
        self._refused = self._stamps
        self._site: web.SockSite | None = None
        self._listener = listener

    def bind(self) -> None:
        """
        Take the port; :meth:`run` does it otherwise.

        :raises OptionError: if the port is taken, or not to be had
        """
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        try:
            self._listener = socket.create_server((self.host, self.port), family=family, backlog=128)
        except OSError as error:
            why = os.strerror(error.errno) if error.errno else error
            raise OptionError(f"cannot listen on {self.host}:{self.port}: {why} (see --host and --port)") from error
        self._listener.setblocking(False)
        self.port = self._listener.getsockname()[1]

    async def run(self) -> None:
        """
        Serve until cancelled.

        :raises OptionError: if the port is taken or not to be had, or a file is not what it should be
        """
        if self._listener is None:
            self.bind()
        assert self._listener is not None
        context = self._tls.context() if self._tls is not None else None
        app = web.Application(client_max_size=BODY_LIMIT)
        app.add_routes(
            [
                web.post("/validate", self._validate),
                web.get("/healthz", self._health),
                web.get("/readyz", self._health),
                web.get("/livez", _live),
            ]
        )
        # A request whose caller has gone away is cancelled, so that nothing is charged for it.
        runner = web.AppRunner(
            app,
            access_log=None,
            handle_signals=False,
            shutdown_timeout=0.2,
            handler_cancellation=True,
            auto_decompress=False,
        )
        with self._listener as listener:
            try:
                await runner.setup()
                await self._serve(runner, listener, context)
                self.listening.set()
                log.info("quota_webhook_listening", host=self.host, port=self.port)
                if self._tls is not None:
                    files = self._tls
                    await until(lambda: self._follow(files, runner, listener), _LOOK_PERIOD, clock=self._clock)
                await anyio.sleep_forever()
            finally:
                with anyio.CancelScope(shield=True):
                    await runner.cleanup()

    async def _serve(self, runner: web.AppRunner, listener: socket.socket, context: ssl.SSLContext | None) -> None:
        """Take new connections with these certificates; those that are open keep theirs."""
        before = self._site
        # A duplicate: a site closes the socket that it is given.
        self._site = web.SockSite(runner, listener.dup(), ssl_context=context)
        await self._site.start()
        if before is not None:
            await before.stop()

    async def _follow(self, files: TLSFiles, runner: web.AppRunner, listener: socket.socket) -> None:
        stamps = files.stamps()
        if stamps == self._stamps:
            return
        try:
            context = files.context()
        except OptionError as error:
            # Perhaps half of the files are written: looked at again, and told of once for each change.
            if stamps != self._refused:
                self._refused = stamps
                log.warning("certificates_not_reloaded", error=str(error))
            return
        await self._serve(runner, listener, context)
        self._stamps = stamps
        log.info("certificates_reloaded", certificate=str(files.certificate))

    async def _validate(self, http: web.Request) -> web.Response:
        if self._tls is not None and not self._tls.lets_in(_certificate(http)):
            wanted = ", ".join(sorted(self._tls.client_names))
            return _status(403, "Forbidden", f"only API servers may ask: want a client certificate for {wanted}")
        encoding = http.headers.get("Content-Encoding", "identity")
        if encoding.lower() != "identity":
            return _status(415, "UnsupportedMediaType", f"the body is encoded ({encoding[:40]!r}): want it as it is")
        try:
            asked = read_admission(await self._body(http))
        except web.HTTPRequestEntityTooLarge:
            return _status(413, "RequestEntityTooLarge", f"the request body is larger than {BODY_LIMIT} bytes")
        except EvaluationTimedOut:
            return _status(408, "Timeout", f"the request body did not come within {_BODY_TIMEOUT:g} s")
        except BadReview as error:
            return _status(400, "BadRequest", str(error))
        decision = await self._webhook.decide(asked, read_timeout(http.query.get("timeout", ""), TIMEOUT))
        body = (
            allowed(asked.uid)
            if decision.code == 200
            else denied(asked.uid, decision.code, decision.reason, decision.message, retry_after=decision.retry_after)
        )
        return web.Response(body=body, content_type=_JSON)

    async def _body(self, http: web.Request) -> bytes:
        """
        :raises EvaluationTimedOut: if it has not come in time
        """
        if http.content.is_eof():
            return await http.read()
        with time_limit(_BODY_TIMEOUT, self._clock):
            return await http.read()

    async def _health(self, http: web.Request) -> web.Response:
        trouble = await self._webhook.trouble()
        return web.Response(text=trouble or "ok", status=503 if trouble else 200)


async def _live(http: web.Request) -> web.Response:
    return web.Response(text="ok")


def _certificate(http: web.Request) -> dict[str, object] | None:
    found: dict[str, object] | None = http.transport.get_extra_info("peercert") if http.transport is not None else None
    return found


def _status(code: int, reason: str, message: str) -> web.Response:
    return web.Response(body=status(code, reason, message), status=code, content_type=_JSON)
