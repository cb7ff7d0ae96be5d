"""Calls of webhooks over HTTPS. Failures have the error texts of Go's client."""

from __future__ import annotations

import base64
import ssl
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import anyio
import msgspec

from kinformer.clock import Clock, move_on_after
from kinformer.envtest.jsontext import BadJson, decode
from kinformer.envtest.webhooks.review import CallFailed
from kinformer.envtest.webhooks.trust import trust_namesake

__all__ = ("Caller", "ServiceResolver")

#: Returns the host and port of a service (namespace, name, port). Raises LookupError if there is none.
ServiceResolver = Callable[[str, str, int], tuple[str, int]]

_LARGEST_ANSWER = 8 * 1024 * 1024
_GENERIC = {
    400: "the server rejected our request for an unknown reason",
    401: "the server has asked for the client to provide credentials",
    404: "the server could not find the requested resource",
    503: "the server is currently unable to handle the request",
}


@dataclass(frozen=True, slots=True)
class _Target:
    """
    :param shown: the URL in error texts
    :param url: the URL that is called
    :param name: the name that the server's certificate must be for
    :param host: the Host header
    :param address: ``host:port`` in error texts
    """

    shown: str
    url: str
    name: str
    host: str
    address: str


class Caller:
    """Connections to webhooks. They stay open until :meth:`close`."""

    def __init__(self, clock: Clock, resolve: ServiceResolver):
        self._clock = clock
        self._resolve = resolve
        self._session: aiohttp.ClientSession | None = None
        self._contexts: dict[str, ssl.SSLContext] = {}

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            with anyio.CancelScope(shield=True):
                await session.close()

    async def post(self, client: dict[str, Any], timeout: int, body: bytes) -> bytes:
        """
        Send a body to a webhook.

        :param client: how the webhook is reached: its ``clientConfig``
        :param timeout: in seconds, by the server's clock
        :return: the body of the answer
        :raises CallFailed: if there is no answer in time, or the answer is an error or too large
        """
        target, bundle = self._target(client, timeout), client.get("caBundle") or ""
        with move_on_after(self._clock, timeout):
            try:
                try:
                    return await self._post(target, bundle, body)
                except aiohttp.ClientConnectorCertificateError as error:
                    cas, address = base64.b64decode(bundle), (error.host, error.port or 443)
                    if not await trust_namesake(self._context(bundle), cas, address, error.certificate_error):
                        raise
                    return await self._post(target, bundle, body)
            except aiohttp.ClientConnectorCertificateError as error:
                why = f"tls: failed to verify certificate: x509: {_certificate_complaint(error)}"
                raise _failed(target, why) from None
            except aiohttp.ClientConnectorError as error:
                refused = isinstance(error.os_error, ConnectionRefusedError)
                text = "connection refused" if refused else str(error.os_error)
                raise _failed(target, f"dial tcp {target.address}: connect: {text}") from None
            except aiohttp.ServerDisconnectedError:
                raise _failed(target, "EOF") from None
            except (aiohttp.ClientError, OSError) as error:
                raise _failed(target, str(error)) from None
        raise _failed(target, "context deadline exceeded")

    async def _post(self, target: _Target, bundle: str, body: bytes) -> bytes:
        if self._session is None:
            # Each webhook has its own timeout, by the server's clock, and as many connections as there are requests.
            timeout = aiohttp.ClientTimeout(total=None, sock_connect=None)
            many, jar = aiohttp.TCPConnector(limit=0), aiohttp.DummyCookieJar()
            self._session = aiohttp.ClientSession(connector=many, cookie_jar=jar, timeout=timeout)
        headers = {"Content-Type": "application/json", "Accept": "application/json", "Host": target.host}
        context = self._context(bundle)
        async with self._session.post(
            target.url, data=body, headers=headers, ssl=context, server_hostname=target.name, allow_redirects=False
        ) as response:
            answer = await response.content.read(_LARGEST_ANSWER)
            while chunk := await response.content.read(_LARGEST_ANSWER - len(answer) + 1):
                answer += chunk
                if len(answer) > _LARGEST_ANSWER:
                    raise CallFailed("failed to call webhook: the answer is too large")
            if not 200 <= response.status < 300:
                raise CallFailed(f"failed to call webhook: {_complaint(response.status, answer)}")
            return answer

    def _target(self, client: dict[str, Any], timeout: int) -> _Target:
        query = f"timeout={timeout}s"
        service: dict[str, Any] | None = client.get("service")
        if service is None:
            parts = urlsplit(client["url"])
            shown = f"{parts.scheme}://{parts.netloc}{parts.path}?{query}"
            host = parts.hostname or ""
            return _Target(shown, shown, host, parts.netloc, f"{host}:{parts.port or 443}")
        port = service.get("port") or 443
        name = f"{service['name']}.{service['namespace']}.svc"
        path = "/" + (service.get("path") or "").lstrip("/")
        shown = f"https://{name}:{port}{path}?{query}"
        try:
            host, real_port = self._resolve(service["namespace"], service["name"], port)
        except LookupError as error:
            raise CallFailed(
                f'failed to call webhook: Post "{shown}": {error.args[0] if error.args else error}'
            ) from None
        address = f"[{host}]:{real_port}" if ":" in host else f"{host}:{real_port}"
        return _Target(shown, f"https://{address}{path}?{query}", name, f"{name}:{port}", address)

    def _context(self, bundle: str) -> ssl.SSLContext:
        if (known := self._contexts.get(bundle)) is not None:
            return known
        try:
            context = ssl.create_default_context(cadata=base64.b64decode(bundle).decode() if bundle else None)
        except (ValueError, ssl.SSLError):
            text = "unable to load root certificates: unable to parse bytes as PEM block"
            raise CallFailed(f"could not get REST client: {text}") from None
        # Like Go: a certificate that is itself trusted needs no CA, and no extensions that identify a CA.
        context.verify_flags = (context.verify_flags | ssl.VERIFY_X509_PARTIAL_CHAIN) & ~ssl.VERIFY_X509_STRICT
        self._contexts[bundle] = context
        return context


def _failed(target: _Target, why: str) -> CallFailed:
    return CallFailed(f'failed to call webhook: Post "{target.shown}": {why}')


def _certificate_complaint(error: aiohttp.ClientConnectorCertificateError) -> str:
    reason = error.certificate_error
    if isinstance(reason, ssl.SSLCertVerificationError):
        if "mismatch" in reason.verify_message or "not valid for" in reason.verify_message:
            return f"certificate is not valid for the name that was asked for: {reason.verify_message}"
        if "expired" in reason.verify_message:
            return "certificate has expired or is not yet valid"
    return "certificate signed by unknown authority"


def _complaint(code: int, body: bytes) -> str:
    """client-go's text for an error response: the Status's message, or a text for the HTTP status."""
    with suppress(BadJson):
        status = decode(body)
        if isinstance(status, dict) and status.get("kind") == "Status" and status.get("message"):
            return str(status["message"])
    if code in _GENERIC:
        return _GENERIC[code]
    text = msgspec.json.encode(body.decode("utf-8", "replace").strip()[:2048] or "unknown").decode()
    return f"an error on the server ({text}) has prevented the request from succeeding"
