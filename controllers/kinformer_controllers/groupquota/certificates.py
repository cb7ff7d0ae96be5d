"""The webhook's TLS files: its own certificate, and the authority of the clients that may call it.

A tool that renews certificates writes the files and does not notify the server. So the server checks the files once a
second. If one has changed, it reads all of them again. If they cannot be read, for example because the key of a new
certificate is not written yet, the server keeps the certificates that it has.
"""

from __future__ import annotations

import ssl
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from kinformer.options import OptionError

__all__ = ("DEFAULT_CLIENT", "TLSFiles", "names_of")

#: The name that an API server's certificate must have, if no other names are configured.
DEFAULT_CLIENT: Final = "kube-apiserver"

#: Inode, time of the last change, and size of a file; None if it cannot be read.
_Stamp = tuple[int, int, int] | None


@dataclass(frozen=True, slots=True)
class TLSFiles:
    """
    The files with the server's certificate and with the authority of its clients.

    :param certificate: the server's certificate, as PEM, with its intermediates
    :param key: the key of the certificate, as PEM, without a passphrase
    :param client_authority: the certificates of the authorities whose clients may call the webhook. If None, clients
        need no certificate
    :param client_names: a client's certificate must have one of these as its common name or DNS name
    """

    certificate: Path
    key: Path
    client_authority: Path | None = None
    client_names: frozenset[str] = frozenset({DEFAULT_CLIENT})

    def context(self) -> ssl.SSLContext:
        """
        Read the files.

        :raises OptionError: if a file is missing or invalid. The error names the file
        """
        # The help of the command needs none of this.
        from kinformer.client.tls import load_identity
        from kinformer.manager.serving.tls import ServerTls

        try:
            # A certificate is optional, because a kubelet that probes the webhook has none.
            context = ServerTls(self.client_authority).context()
        except OSError as error:  # ssl.SSLError is one
            raise OptionError(f"{self.client_authority}: not certificates of authorities: {error}") from error
        try:
            load_identity(context, b"\n".join((self.certificate.read_bytes(), self.key.read_bytes())))
        except (OSError, ValueError) as error:
            raise OptionError(f"{self.certificate}, {self.key}: not a certificate and its key: {error}") from error
        return context

    def stamps(self) -> tuple[_Stamp, ...]:
        """A value for each file. It changes when the file is written or replaced."""
        files = (self.certificate, self.key, self.client_authority)
        return tuple(_stamp(file) for file in files if file is not None)

    def lets_in(self, certificate: Mapping[str, Any] | None) -> bool:
        """
        Whether a client may call the webhook.

        :param certificate: the client's verified certificate, as :meth:`ssl.SSLSocket.getpeercert` returns it; None if
            it has none
        """
        return self.client_authority is None or not self.client_names.isdisjoint(names_of(certificate))


def names_of(certificate: Mapping[str, Any] | None) -> Collection[str]:
    """The common name and the DNS names of a certificate. Without a certificate there are none."""
    return set(_names_of(certificate or {}))


def _names_of(certificate: Mapping[str, Any]) -> Iterator[str]:
    for part in certificate.get("subject", ()):
        yield from (value for key, value in part if key == "commonName")
    yield from (value for kind, value in certificate.get("subjectAltName", ()) if kind == "DNS")


def _stamp(file: Path) -> _Stamp:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
