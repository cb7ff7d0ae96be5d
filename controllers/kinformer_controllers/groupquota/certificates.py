"""The webhook's TLS files: its own certificate, and the authority of those who may ask it.

Whoever renews certificates writes the files anew and tells nobody. So the server looks at the files once a second, and
when one has changed it reads them all again. Files that cannot be read, such as a certificate whose key is still to be
written, change nothing: the server goes on with those that it has.
"""

from __future__ import annotations

import ssl
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from kinformer.options import OptionError

__all__ = ("DEFAULT_CLIENT", "TLSFiles", "names_of", "tls_context")

#: The name that an API server's certificate must have, if nothing else is said.
DEFAULT_CLIENT: Final = "kube-apiserver"

#: What of a file says that it is another one, or has been written.
_Stamp = tuple[int, int, int] | None


@dataclass(frozen=True, slots=True)
class TLSFiles:
    """
    :param certificate: the server's, as PEM, with its intermediates
    :param key: its key, as PEM, without a passphrase
    :param client_authority: the certificates of the authorities whose clients may ask; nobody is asked for one if None
    :param client_names: common names or DNS names, of which a client's certificate must have one
    """

    certificate: Path
    key: Path
    client_authority: Path | None = None
    client_names: frozenset[str] = frozenset({DEFAULT_CLIENT})

    def context(self) -> ssl.SSLContext:
        """
        :raises OptionError: if a file is not what it should be; it names the file
        """
        context = tls_context(self.certificate, self.key)
        if self.client_authority is not None:
            try:
                context.load_verify_locations(self.client_authority)
            except (OSError, ssl.SSLError) as error:
                raise OptionError(f"{self.client_authority}: not certificates of authorities: {error}") from error
            # Not required: a kubelet that looks whether the webhook is alive has none.
            context.verify_mode = ssl.CERT_OPTIONAL
        return context

    def stamps(self) -> tuple[_Stamp, ...]:
        """What is another value when a file is."""
        files = (self.certificate, self.key, self.client_authority)
        return tuple(_stamp(file) for file in files if file is not None)

    def lets_in(self, certificate: Mapping[str, Any] | None) -> bool:
        """
        Whether a client may ask.

        :param certificate: the client's, checked, as :meth:`ssl.SSLSocket.getpeercert` gives it
        """
        return self.client_authority is None or not self.client_names.isdisjoint(names_of(certificate))


def names_of(certificate: Mapping[str, Any] | None) -> Collection[str]:
    """The common name and the DNS names of a certificate; none of nobody's."""
    return set(_names_of(certificate or {}))


def _names_of(certificate: Mapping[str, Any]) -> Iterator[str]:
    for part in certificate.get("subject", ()):
        yield from (value for key, value in part if key == "commonName")
    yield from (value for kind, value in certificate.get("subjectAltName", ()) if kind == "DNS")


def tls_context(certificate: Path, key: Path) -> ssl.SSLContext:
    """
    :raises OptionError: if the files are not a certificate and its key
    """

    def no_passphrase() -> str:
        # Without this, OpenSSL would ask on the terminal.
        raise OptionError(f"{key}: the key is encrypted: want one without a passphrase")

    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(certificate, key, no_passphrase)
    except (OSError, ssl.SSLError) as error:
        raise OptionError(f"{certificate}, {key}: not a certificate and its key: {error}") from error
    return context


def _stamp(file: Path) -> _Stamp:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
