"""The parts of the manager's endpoint: routes, certificates and access rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kinformer.client import Client
from kinformer.manager.serving.access import ALWAYS_ALLOWED, KeptFor
from kinformer.manager.serving.tls import ServerTls

__all__ = ("KeptFor", "SecureServing", "ServerTls", "StatusPages")


@dataclass(frozen=True, slots=True)
class SecureServing:
    """
    Protects the endpoint with TLS, and lets the API server decide who may read what.

    :param cert_file: the certificate in PEM; None: a self-signed one is made for this process
    :param key_file: the private key in PEM. Give both files, or neither
    :param always_allow: the paths that everybody may read
    :param tls: the authorities of clients' certificates, the versions and the cipher suites
    :param authentication: reviews the tokens; the manager's client if None
    :param authorization: reviews the access; the manager's client if None
    :param kept: for how long the reviews' answers are cached
    """

    cert_file: Path | None = None
    key_file: Path | None = None
    always_allow: Sequence[str] = ALWAYS_ALLOWED
    tls: ServerTls = field(default_factory=ServerTls)
    authentication: Client | None = None
    authorization: Client | None = None
    kept: KeptFor = field(default_factory=KeptFor)


@dataclass(eq=False, slots=True)
class StatusPages:
    """
    The contents of ``/statusz``, ``/flagz`` and ``/configz``.

    :param component: the name of the component
    :param configs: returns the configurations in effect, by name
    :param flags: the values of the command line's flags, by name
    :param started: when the process was started
    """

    component: str
    configs: Callable[[], Mapping[str, Mapping[str, Any]]]
    flags: Mapping[str, Any] = field(default_factory=dict)
    started: datetime = field(default_factory=lambda: datetime.now(UTC))
