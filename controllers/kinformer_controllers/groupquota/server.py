"""The HTTPS server that an API server sends its AdmissionReviews to.

It is :class:`kinformer.operator.webhooks.WebhookServer`, with one addition: clients may have to show a certificate. The
paths for health answer everybody, because a kubelet that probes them has none.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from kinformer.clock import Clock
from kinformer.operator import webhooks
from kinformer.operator.webhooks import CertificateFiles
from kinformer.operator.webhooks.reviews import ConversionRequest, RawRequest, allowed, denied
from kinformer_controllers.groupquota.webhook import QuotaWebhook

__all__ = ("BODY_LIMIT", "LOOPBACK", "WebhookServer", "names_of")

#: The largest body in bytes. kube-apiserver has the same limit.
BODY_LIMIT: Final = 3 * 1024 * 1024

#: The address for a server without client certificates: only this machine can connect.
LOOPBACK: Final = "127.0.0.1"


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

    :param certificate: the server's certificate; None for plain HTTP
    :param clients: a client needs a certificate with one of these as its common name or DNS name, of an authority that
        `certificate` knows. None: any client may send reviews
    :param port: the port; 0 for a free one, which :attr:`port` has once the server listens
    """

    body_limit = BODY_LIMIT

    def __init__(
        self,
        webhook: QuotaWebhook,
        certificate: CertificateFiles | None,
        host: str = LOOPBACK,
        port: int = 9443,
        *,
        clients: Collection[str] | None = None,
        clock: Clock | None = None,
    ) -> None:
        async def trouble() -> str:
            return await webhook.trouble()

        super().__init__(_Answers(webhook), certificate, host=host, port=port, trouble=trouble, clock=clock)
        self._clients = clients

    def refusal(self, client: Mapping[str, Any] | None) -> str:
        """Why a client may not call the webhook; empty if it may."""
        if self._clients is None or names_of(client or {}) & set(self._clients):
            return ""
        return f"only API servers may ask: want a client certificate for {', '.join(sorted(self._clients))}"


def names_of(certificate: Mapping[str, Any]) -> set[str]:
    """The common name and the DNS names of a certificate, as :meth:`ssl.SSLSocket.getpeercert` returns it."""
    common = {value for part in certificate.get("subject", ()) for key, value in part if key == "commonName"}
    return common | {value for kind, value in certificate.get("subjectAltName", ()) if kind == "DNS"}
