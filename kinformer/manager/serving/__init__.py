"""What the manager's endpoint serves, and to whom: routes, certificates, and who may read what."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kinformer.manager.serving.access import ALWAYS_ALLOWED

__all__ = ("SecureServing", "StatusPages")


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


@dataclass(eq=False, slots=True)
class StatusPages:
    """
    What ``/statusz``, ``/flagz`` and ``/configz`` are made from.

    :param component: what the process calls itself
    :param configs: gives the configurations in effect, by their names
    :param flags: the command line's, by their names
    :param started: when the process was
    """

    component: str
    configs: Callable[[], Mapping[str, Mapping[str, Any]]]
    flags: Mapping[str, Any] = field(default_factory=dict)
    started: datetime = field(default_factory=lambda: datetime.now(UTC))
