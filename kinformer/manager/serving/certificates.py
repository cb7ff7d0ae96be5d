"""Certificates of a server. They come from files that are read again when they change, or are self-signed.

The server listens with one :class:`ssl.SSLContext` all the time. A new connection gets the newest certificate, and is
checked against the newest authorities of clients; open connections continue. If only one of the files has changed yet,
they do not match. Then the old ones stay, and the files are read again later.
"""

from __future__ import annotations

import ipaddress
import socket
import ssl
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from kinformer.certificates import CertificatesUnavailable, make_certificate
from kinformer.client.tls import load_identity
from kinformer.clock import Clock, RealClock
from kinformer.logs import get_logger
from kinformer.manager.serving.tls import ServerTls

__all__ = ("CertificateError", "ServingCertificate", "is_loopback", "self_signed")

log = get_logger(__name__)

#: Seconds after which the files are read again.
_LOOK_EVERY: Final = 1.0

#: The common name of a self-signed certificate, and the time after which it is replaced.
_NAME: Final = "kinformer-manager"
_RENEWED_AFTER: Final = timedelta(days=240)


class CertificateError(Exception):
    """There is no usable serving certificate."""


@dataclass(eq=False, slots=True, kw_only=True)
class ServingCertificate:
    """
    The certificate that a server shows its clients, and the authorities of the clients' certificates.

    :param cert_file: the certificate and its intermediate certificates in PEM; None: a self-signed one is made
    :param key_file: the private key in PEM. Give both files, or neither
    :param host: the address that the server listens on. A self-signed certificate is valid for it
    :param tls: the other settings of TLS
    :param clock: for the times of reading and renewing
    """

    cert_file: Path | None = None
    key_file: Path | None = None
    host: str = ""
    tls: ServerTls = field(default_factory=ServerTls)
    clock: Clock = field(default_factory=RealClock)
    _context: ssl.SSLContext | None = field(default=None, init=False)
    #: What new connections use.
    _newest: ssl.SSLContext | None = field(default=None, init=False)
    _loaded: tuple[bytes, bytes] = field(default=(b"", b""), init=False)
    _refused: str = field(default="", init=False)
    _self_signed: bytes = field(default=b"", init=False)
    _renew_at: datetime = field(default=datetime.min.replace(tzinfo=UTC), init=False)

    def context(self) -> ssl.SSLContext:
        """
        The context to listen with. It is always the same object.

        :raises CertificateError: if a file cannot be read, the certificate and the key do not match, or no self-signed
            certificate can be made
        """
        if self._context is None:
            read = self._read()
            self._newest = self._context = self._made(read)
            self._context.sni_callback = self._use_newest
            self._loaded = read
        return self._context

    async def run(self) -> None:
        """Keep the context up to date until cancelled."""
        while True:
            await self.clock.sleep(_LOOK_EVERY)
            self.refresh()

    def refresh(self) -> None:
        """Load the files if they have changed and match. Replace a self-signed certificate when it is time to."""
        self.context()
        try:
            read = self._read()
            if read == self._loaded:
                return
            self._newest = self._made(read)
        except CertificateError as error:
            if str(error) != self._refused:
                self._refused = str(error)
                log.warning("serving_certificate_not_reloaded", error=self._refused)
            return
        self._loaded, self._refused = read, ""
        log.info("serving_certificate_reloaded", file=str(self.cert_file or "made for this process"))

    def _use_newest(self, connection: ssl.SSLObject, _name: object, _context: ssl.SSLContext) -> None:
        # Called in each handshake, also if the client names no server.
        assert self._newest is not None
        connection.context = self._newest

    def _made(self, read: tuple[bytes, bytes]) -> ssl.SSLContext:
        try:
            context = self.tls.context()
        except ValueError as error:
            raise CertificateError(str(error)) from error
        except OSError as error:  # ssl.SSLError is one
            told = f"{self.tls.client_ca_file}: not certificates of authorities: {error.strerror or error}"
            raise CertificateError(told) from error
        try:
            load_identity(context, read[0])
        except ValueError as error:
            where = f"{self.cert_file}, {self.key_file}: " if self.cert_file is not None else ""
            raise CertificateError(f"{where}no certificate with its key: {error}") from error
        return context

    def _read(self) -> tuple[bytes, bytes]:
        """The certificate with its key, and the authorities."""
        authorities = _content(self.tls.client_ca_file)
        if self.cert_file is not None:
            return b"\n".join(map(_content, (self.cert_file, self.key_file))), authorities
        if self.clock.now() >= self._renew_at:
            self._self_signed, self._renew_at = self_signed(self.host), self.clock.now() + _RENEWED_AFTER
        return self._self_signed, authorities


def _content(path: Path | None) -> bytes:
    try:
        return path.read_bytes() if path is not None else b""
    except OSError as error:
        raise CertificateError(f"{path}: {error.strerror or error}") from error


def self_signed(host: str) -> bytes:
    """
    Make a self-signed certificate and its key, in PEM. It is valid for `host` and for the names of this machine.

    :raises CertificateError: if the package `cryptography` is not installed
    """
    try:
        return b"".join(make_certificate(_NAME, datetime.now(UTC), authority=None, hosts=_hosts(host)))
    except CertificatesUnavailable as error:
        raise CertificateError(f"{error}, or give --tls-cert-file and --tls-private-key-file") from error


def _hosts(host: str) -> list[str]:
    hosts: list[str] = []
    for one in (host, socket.gethostname(), "localhost", "127.0.0.1", "::1"):
        try:
            address = ipaddress.ip_address(one)
        except ValueError:
            if one.isascii() and one:
                hosts.append(one)
        else:
            if not address.is_unspecified:
                hosts.append(one)
    return hosts


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine only."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
