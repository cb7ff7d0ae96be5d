"""The HTTPS server that an API server sends its AdmissionReviews to.

``/validate`` answers them, ``/healthz`` says 200 or, while nothing can be checked, 503 and why; ``/livez`` answers as
long as the event loop turns. A body that is no AdmissionReview gets a Status, which an API server takes for a failure
of the webhook: its failure policy then decides.
"""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Final

import anyio
from aiohttp import web

from kinformer.logs import get_logger
from kinformer.manager import OptionError
from kinformer_controllers.groupquota.review import BadReview, answer, read_review, status
from kinformer_controllers.groupquota.webhook import QuotaWebhook

__all__ = ("BODY_LIMIT", "WebhookServer", "tls_context")

log = get_logger(__name__)

#: What kube-apiserver itself takes.
BODY_LIMIT: Final = 3 * 1024 * 1024

_JSON: Final = "application/json"


class WebhookServer:
    """
    :param tls: the server's certificate; None for plain HTTP behind something that has one
    :param port: 0 for any that is free; :attr:`port` has it once the server listens
    """

    def __init__(
        self, webhook: QuotaWebhook, tls: ssl.SSLContext | None, host: str = "0.0.0.0", port: int = 9443
    ) -> None:
        self._webhook = webhook
        self._tls = tls
        self.host = host
        self.port = port
        self.listening = anyio.Event()

    async def run(self) -> None:
        """
        Serve until cancelled.

        :raises OSError: if the port is taken, or not to be had
        """
        app = web.Application(client_max_size=BODY_LIMIT)
        app.add_routes(
            [
                web.post("/validate", self._validate),
                web.get("/healthz", self._health),
                web.get("/readyz", self._health),
                web.get("/livez", _live),
            ]
        )
        runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=0.2)
        try:
            await runner.setup()
            await web.TCPSite(runner, self.host, self.port, ssl_context=self._tls, reuse_address=True).start()
            self.port = runner.addresses[0][1]
            self.listening.set()
            log.info("quota_webhook_listening", host=self.host, port=self.port)
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await runner.cleanup()

    async def _validate(self, http: web.Request) -> web.Response:
        try:
            asked = read_review(await http.read())
        except web.HTTPRequestEntityTooLarge:
            text = f"the request body is larger than {BODY_LIMIT} bytes"
            body = status(413, "RequestEntityTooLarge", text)
            return web.Response(body=body, status=413, content_type=_JSON)
        except BadReview as error:
            return web.Response(body=status(400, "BadRequest", str(error)), status=400, content_type=_JSON)
        decision = await self._webhook.decide(asked)
        return web.Response(body=answer(asked.uid, *decision), content_type=_JSON)

    async def _health(self, http: web.Request) -> web.Response:
        trouble = await self._webhook.trouble()
        return web.Response(text=trouble or "ok", status=503 if trouble else 200)


async def _live(http: web.Request) -> web.Response:
    return web.Response(text="ok")


def tls_context(certificate: Path, key: Path) -> ssl.SSLContext:
    """
    :raises OptionError: if the files are not a certificate and its key
    """
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        raise OptionError(f"{certificate}, {key}: not a certificate and its key: {error}") from error
    return context
