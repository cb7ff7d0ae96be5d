"""The HTTPS server that an API server sends its AdmissionReviews to.

It is :class:`kinformer.operator.webhooks.WebhookServer`, with what a quota needs besides. If the server knows the
authority of its clients, whoever asks to have something charged has to show a certificate. Health is told to everybody.
Certificates and that authority are read again when their files change. Open connections keep those that they were made
with. The port is taken before anything else runs.
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

#: What kube-apiserver itself takes.
BODY_LIMIT: Final = 3 * 1024 * 1024

#: Where a server listens that lets everybody in.
LOOPBACK: Final = "127.0.0.1"

# Seconds between two looks at the files of the certificates.
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
    :param tls: the server's certificate, and whose clients may ask; None for plain HTTP
    :param port: 0 for any that is free; :attr:`port` has it once the server listens
    :param listener: a socket that listens already, in place of `host` and `port`
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

    async def serve(self, runner: web.AppRunner) -> None:
        """
        Listen, and follow the files of the certificates, until cancelled.

        :raises OptionError: if the port is taken or not to be had, or a file is not what it should be
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
        """Why somebody may not ask; empty for who may."""
        if self._tls is None or self._tls.lets_in(client):
            return ""
        return f"only API servers may ask: want a client certificate for {', '.join(sorted(self._tls.client_names))}"

    async def _show(self, runner: web.AppRunner, listener: socket.socket, context: ssl.SSLContext | None) -> None:
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
        await self._show(runner, listener, context)
        self._stamps = stamps
        log.info("certificates_reloaded", certificate=str(files.certificate))
