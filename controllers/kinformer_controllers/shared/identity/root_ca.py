"""The CA certificates with which clients in the cluster verify the API server.

They come from ``--root-ca-file``. Without this flag they are the certificates with which this process verifies the
server.
"""

from __future__ import annotations

from pathlib import Path

from kinformer.client import Client
from kinformer.options import OptionError

__all__ = ("root_ca",)


def root_ca(client: Client, file: str) -> bytes:
    """
    Return the certificates in PEM.

    The result is empty if there is no file and the client has no certificates of its own: it uses those of the system,
    or does not verify the server.

    :param file: the value of ``--root-ca-file``
    :raises OptionError: if the file cannot be read, or has no certificate in it
    """
    if not file:
        return client.certificate_authorities
    try:
        content = Path(file).read_bytes()
    except OSError as error:
        raise OptionError(f"--root-ca-file {file}: {error.strerror or error}") from error
    if b"-----BEGIN CERTIFICATE-----" not in content:
        raise OptionError(f"--root-ca-file {file}: it has no certificate in PEM")
    return content
