"""The permissions of the cleaner of certificate requests at the API server."""

from __future__ import annotations

from typing import Final

from kinformer.permissions import Rule, allow

__all__ = ("PERMISSIONS",)

PERMISSIONS: Final[tuple[Rule, ...]] = (allow("list watch delete", "certificatesigningrequests.certificates.k8s.io"),)
