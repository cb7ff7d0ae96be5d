"""The certificates by which clients in the cluster know the API server.

They come from ``--root-ca-file``. Without it they are those by which this process itself knows the server.
"""

from __future__ import annotations

from pathlib import Path

from kinformer.client import Client
from kinformer.options import OptionError

__all__ = ("root_ca",)


def root_ca(client: Client, file: str) -> bytes:
    """
    The certificates in PEM; empty if there is no file and the server is known by the system's certificates, or by none.

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
