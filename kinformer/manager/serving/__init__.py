"""What the manager's endpoint serves, and to whom: routes, certificates, and who may read what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kinformer.manager.serving.access import ALWAYS_ALLOWED

__all__ = ("SecureServing",)


@dataclass(frozen=True, slots=True)
class SecureServing:
    """
    How the endpoint is protected: TLS, and the API server's word on who may read what.

    :param cert_file: the certificate in PEM, with `key_file`; one is made for this process if there is none
    :param always_allow: paths that are open to everybody
    """

    cert_file: Path | None = None
    key_file: Path | None = None
    always_allow: Sequence[str] = ALWAYS_ALLOWED
