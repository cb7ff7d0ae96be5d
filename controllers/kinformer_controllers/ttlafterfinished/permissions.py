"""The permissions of the controller of finished Jobs' time to live at the API server."""

from __future__ import annotations

from typing import Final

from kinformer.permissions import Rule, allow

__all__ = ("PERMISSIONS",)

PERMISSIONS: Final[tuple[Rule, ...]] = (allow("get list watch delete", "jobs.batch"),)
