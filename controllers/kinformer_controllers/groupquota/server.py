"""The HTTPS server that an API server sends its AdmissionReviews to.

It is :class:`kinformer.operator.webhooks.WebhookServer`, with three additions. If the server has the authority of its
clients, a client needs a certificate of it to send a review. The paths for health answer everybody. The certificates
are read again when their files change; open connections keep the old ones. The port is taken before anything else runs,
so that an error about it comes first.
"""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import Mapping
from typing import Any, Final

import anyio
from aiohttp import web

from kinformer.clock import Clock
from kinformer.logs import get_logger
from kinformer.manager import OptionError
from kinformer.operator import webhooks
from kinformer.operator.webhooks.reviews import ConversionRequest, RawRequest, allowed, denied
from kinformer.workqueue import until
from kinformer_controllers.groupquota.certificates import TLSFiles
from kinformer_controllers.groupquota.webhook import QuotaWebhook

__all__ = ("BODY_LIMIT", "LOOPBACK", "WebhookServer")

log = get_logger(__name__)

#: The largest body in bytes. kube-apiserver has the same limit.
BODY_LIMIT: Final = 3 * 1024 * 1024

#: The address for a server without client certificates: only this machine can connect.
LOOPBACK: Final = "127.0.0.1"

# Seconds between two checks of the certificates' files.
_LOOK_PERIOD: Final = 1.0


class _Answers:
    """The decisions of a quota webhook, as answers to reviews."""

    paths = ("/validate",)
    converts = False

    def __init__(self, webhook: QuotaWebhook) -> None:
        self._webhook = webhook

    async def answer_admission(self, path: str, asked: RawRequest, seconds: float = 0.0) -> bytes:
        decision = await self._webhook.decide(asked, seconds)
        if decision.code == 200:
            return allowed(asked.uid)
        return denied(asked.uid, decision.code, decision.reason, decision.message, retry_after=decision.retry_after)

    def answer_conversion(self, asked: ConversionRequest) -> bytes:
        raise NotImplementedError("a quota converts nothing")


class WebhookServer(webhooks.WebhookServer):
    """
    The server of a quota webhook.

    :param tls: the server's certificate, and the clients that may call it; None for plain HTTP
    :param port: the port; 0 for a free one, which :attr:`port` has once the server listens
    :param listener: a socket that listens already, instead of `host` and `port`
    """

    body_limit = BODY_LIMIT

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
        async def trouble() -> str:
            return await webhook.trouble()

        super().__init__(_Answers(webhook), None, host=host, port=port, trouble=trouble, clock=clock)
        self._tls = tls
        self._stamps = tls.stamps() if tls is not None else ()
        self._refused = self._stamps
        self._site: web.SockSite | None = None
        self._listener = listener

    def bind(self) -> None:
        """
        Take the port now. If this is not called, :meth:`run` takes it.

        :raises OptionError: if the port is in use or not allowed
        """
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        try:
            self._listener = socket.create_server((self.host, self.port), family=family, backlog=128)
        except OSError as error:
            # Negative numbers are the resolver's.
            why = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror or error
            raise OptionError(f"cannot listen on {self.host}:{self.port}: {why} (see --host and --port)") from error
        self._listener.setblocking(False)
        self.port = self._listener.getsockname()[1]

    async def serve(self, runner: web.AppRunner) -> None:
        """
        Listen, and follow the files of the certificates, until cancelled.

        :raises OptionError: if the port is in use or not allowed, or a file is missing or invalid
        """
        if self._listener is None:
            self.bind()
        assert self._listener is not None
        with self._listener as listener:
            await self._show(runner, listener, self._tls.context() if self._tls is not None else None)
            self.tell_listening()
            if self._tls is not None:
                files = self._tls
                await until(lambda: self._follow(files, runner, listener), _LOOK_PERIOD, clock=self._clock)
            await anyio.sleep_forever()

    def refusal(self, client: Mapping[str, Any] | None) -> str:
        """Why a client may not call the webhook; empty if it may."""
        if self._tls is None or self._tls.lets_in(client):
            return ""
        return f"only API servers may ask: want a client certificate for {', '.join(sorted(self._tls.client_names))}"

    async def _show(self, runner: web.AppRunner, listener: socket.socket, context: ssl.SSLContext | None) -> None:
        """Use these certificates for new connections. Open connections keep theirs."""
        before = self._site
        # A duplicate, because a site closes its socket.
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
            # Perhaps only some of the files are written. They are read again later. Each change is logged once.
            if stamps != self._refused:
                self._refused = stamps
                log.warning("certificates_not_reloaded", error=str(error))
            return
        await self._show(runner, listener, context)
        self._stamps = stamps
        log.info("certificates_reloaded", certificate=str(files.certificate))
