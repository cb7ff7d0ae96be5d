"""The permissions of the signers of certificate requests at the API server."""

from __future__ import annotations

from typing import Final

from kinformer.permissions import Rule, allow
from kinformer_controllers.csrsigning.options import SIGNERS

__all__ = ("PERMISSIONS",)

PERMISSIONS: Final[tuple[Rule, ...]] = (
    allow("list watch", "certificatesigningrequests.certificates.k8s.io"),
    allow("update", "certificatesigningrequests.certificates.k8s.io/status"),
    Rule(("sign",), ("signers.certificates.k8s.io",), names=tuple(SIGNERS.values())),
)
