"""The TLS settings of the endpoint, with the words of Kubernetes' flags, which are Go's.

In: the texts of ``--tls-min-version``, ``--tls-cipher-suites`` and the path of ``--client-ca-file``. Out: a context for
:mod:`ssl` that follows them.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = ("VERSIONS", "ServerTls", "cipher_suites")

VERSIONS: Final[Mapping[str, ssl.TLSVersion]] = {
    "VersionTLS10": ssl.TLSVersion.TLSv1,
    "VersionTLS11": ssl.TLSVersion.TLSv1_1,
    "VersionTLS12": ssl.TLSVersion.TLSv1_2,
    "VersionTLS13": ssl.TLSVersion.TLSv1_3,
}

#: The names in OpenSSL of the cipher suites that Go has. Those of TLS 1.3 have none: they are always on, as in Go.
_CIPHER_SUITES: Final[Mapping[str, str]] = {
    "TLS_AES_128_GCM_SHA256": "",
    "TLS_AES_256_GCM_SHA384": "",
    "TLS_CHACHA20_POLY1305_SHA256": "",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA": "ECDHE-ECDSA-AES128-SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256": "ECDHE-ECDSA-AES128-SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256": "ECDHE-ECDSA-AES128-GCM-SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA": "ECDHE-ECDSA-AES256-SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384": "ECDHE-ECDSA-AES256-GCM-SHA384",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305": "ECDHE-ECDSA-CHACHA20-POLY1305",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-ECDSA-CHACHA20-POLY1305",
    "TLS_ECDHE_ECDSA_WITH_RC4_128_SHA": "ECDHE-ECDSA-RC4-SHA",
    "TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA": "ECDHE-RSA-DES-CBC3-SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA": "ECDHE-RSA-AES128-SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256": "ECDHE-RSA-AES128-SHA256",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256": "ECDHE-RSA-AES128-GCM-SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA": "ECDHE-RSA-AES256-SHA",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384": "ECDHE-RSA-AES256-GCM-SHA384",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305": "ECDHE-RSA-CHACHA20-POLY1305",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-RSA-CHACHA20-POLY1305",
    "TLS_ECDHE_RSA_WITH_RC4_128_SHA": "ECDHE-RSA-RC4-SHA",
    "TLS_RSA_WITH_3DES_EDE_CBC_SHA": "DES-CBC3-SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA": "AES128-SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA256": "AES128-SHA256",
    "TLS_RSA_WITH_AES_128_GCM_SHA256": "AES128-GCM-SHA256",
    "TLS_RSA_WITH_AES_256_CBC_SHA": "AES256-SHA",
    "TLS_RSA_WITH_AES_256_GCM_SHA384": "AES256-GCM-SHA384",
    "TLS_RSA_WITH_RC4_128_SHA": "RC4-SHA",
}


@dataclass(frozen=True, slots=True)
class ServerTls:
    """
    The TLS settings of a server, beside its certificate.

    :param client_ca_file: the authorities, in PEM, whose certificates name their clients' users; None: no certificate
        of a client counts
    :param minimum: the oldest version of TLS that is spoken
    :param ciphers: the cipher suites of TLS 1.2 and older, by OpenSSL's names; empty: Python's defaults
    """

    client_ca_file: Path | None = None
    minimum: ssl.TLSVersion = ssl.TLSVersion.TLSv1_2
    ciphers: tuple[str, ...] = ()

    def context(self) -> ssl.SSLContext:
        """
        A context without a certificate.

        :raises OSError: if the file of the authorities cannot be read, or has no certificates
        :raises ValueError: if OpenSSL has none of the cipher suites
        """
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = self.minimum
        if self.ciphers:
            try:
                context.set_ciphers(":".join(self.ciphers))
            except ssl.SSLError:
                raise ValueError(f"this machine's OpenSSL has none of {', '.join(self.ciphers)}") from None
        if self.client_ca_file is not None:
            context.verify_mode = ssl.CERT_OPTIONAL
            context.load_verify_locations(self.client_ca_file)
            # A session that is resumed is not checked again, so it would outlive the authority that let it in.
            context.options |= ssl.OP_NO_TICKET
            context.num_tickets = 0
        return context


def cipher_suites(names: Iterable[str]) -> tuple[str, ...]:
    """
    The names in OpenSSL of these cipher suites.

    :raises ValueError: if there is no cipher suite of a name
    """
    names = list(names)
    for name in names:
        if name not in _CIPHER_SUITES:
            raise ValueError(f"{name!r} is not a cipher suite: want some of {', '.join(_CIPHER_SUITES)}")
    return tuple(dict.fromkeys(_CIPHER_SUITES[name] for name in names if _CIPHER_SUITES[name]))
