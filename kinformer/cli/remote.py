"""Requests of ``kinformer top`` and ``kinformer debug`` to a running manager."""

from __future__ import annotations

import ipaddress
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

import msgspec

from kinformer.cli.remote_flags import RemoteFlags
from kinformer.client.causes import cause_of

if TYPE_CHECKING:
    import aiohttp

__all__ = ("Remote", "RemoteError", "url_of")

T = TypeVar("T")

#: Seconds to wait for an answer.
_TIMEOUT = 10.0


class RemoteError(Exception):
    """A request to a manager has failed, or its answer is not valid."""


class Remote:
    """A client for the endpoint of a running manager."""

    def __init__(self, url: str, session: aiohttp.ClientSession, tls: ssl.SSLContext | bool) -> None:
        self.url = url
        self._session = session
        self._tls = tls

    @classmethod
    @asynccontextmanager
    async def reached_by(cls, flags: RemoteFlags) -> AsyncIterator[Remote]:
        """
        Make a client from the flags. It sends no request yet.

        :raises RemoteError: if the flags are not valid
        """
        import aiohttp  # other commands do not need it

        token = flags.token
        if token is None and flags.token_file is not None:
            token = _read(flags.token_file, "--token-file").strip()
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        timeout = aiohttp.ClientTimeout(total=_TIMEOUT)
        async with aiohttp.ClientSession(headers=headers, timeout=timeout) as session:
            yield cls(url_of(flags.address), session, _tls_of(flags))

    async def get(self, path: str, type_: type[T], **query: str) -> T:
        """
        Get the decoded answer of the manager.

        :param path: the path below ``/debug/``
        :param type_: the type of the answer
        :param query: the parameters of the request
        :raises RemoteError: if the request fails, or the answer is not valid
        """
        body = await self.fetch(path, **query)
        try:
            return msgspec.json.decode(body, type=type_)
        except msgspec.MsgspecError as error:
            raise RemoteError(
                f"{self.url} answers, but not as a manager of this version of kinformer does: {error}"
            ) from error

    async def fetch(self, path: str, **query: str) -> bytes:
        """
        Get the answer of the manager as JSON.

        :raises RemoteError: if the request fails
        """
        import aiohttp

        try:
            async with self._session.get(f"{self.url}/debug/{path}", params=query, ssl=self._tls) as answer:
                body = await answer.read()
                if answer.status == 200 and answer.content_type == "application/json":
                    return body
        except TimeoutError as error:
            raise RemoteError(f"{self.url} has not answered for {_TIMEOUT:g} s") from error
        except aiohttp.ClientConnectorCertificateError as error:
            raise RemoteError(
                f"the certificate of {self.url} is not believed: say --certificate-authority, or "
                f"--insecure-skip-tls-verify ({error.certificate_error})"
            ) from error
        except aiohttp.ClientConnectorError as error:
            raise RemoteError(
                f"no manager at {self.url}: {cause_of(error)}. Start one with --metrics-bind-address, or say --address"
            ) from error
        except (aiohttp.ClientError, ValueError) as error:
            raise RemoteError(f"{self.url} does not answer as a manager does: {cause_of(error)}") from error
        raise RemoteError(_refusal(self.url, answer.status, body))


def _refusal(url: str, status: int, body: bytes) -> str:
    if status == 401:
        return f"{url} does not know who asks: say --token or --token-file"
    if status == 403:
        return f"{url} refuses: whoever the token is of may not get /debug/*"
    if status in (200, 404):
        return f"{url} answers, but is no manager of kinformer"
    try:
        told = msgspec.json.decode(body, type=dict[str, str])["error"]
    except (msgspec.MsgspecError, KeyError):
        told = body[:200].decode(errors="replace")
    return f"{url} answers {status}: {told}"


def url_of(address: str) -> str:
    """
    Make the URL of an address, without a slash at its end.

    :raises RemoteError: if the address is not valid
    """
    if "://" not in address:
        address = f"127.0.0.1{address}" if address.startswith(":") else address
        host = urlsplit(f"//{address}").hostname or ""
        address = f"{'http' if _is_this_machine(host) else 'https'}://{address}"
    parts = urlsplit(address)
    try:
        complete = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        complete = False
    if not complete:
        raise RemoteError(f"--address is {address!r}: want HOST:PORT, or http://HOST:PORT or https://HOST:PORT")
    return address.rstrip("/")


def _is_this_machine(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _tls_of(flags: RemoteFlags) -> ssl.SSLContext | bool:
    if flags.insecure_skip_tls_verify:
        return False
    if flags.certificate_authority is None:
        return True
    authority = _read(flags.certificate_authority, "--certificate-authority")
    try:
        # With an empty text, ssl would use the system's authorities.
        return ssl.create_default_context(cadata=authority or "none")
    except ssl.SSLError as error:
        raise RemoteError(f"--certificate-authority is {flags.certificate_authority}: no certificate in PEM") from error


def _read(file: Path, flag: str) -> str:
    try:
        return file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not a text"
        raise RemoteError(f"{flag} is {file}: {why}") from error
