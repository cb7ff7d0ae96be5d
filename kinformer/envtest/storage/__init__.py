"""What the server remembers: one linear history of versions, in memory."""

from __future__ import annotations

from kinformer.envtest.storage.history import Change, Expired, ResourceLog, Version
from kinformer.envtest.storage.store import Storage

__all__ = ("Change", "Expired", "ResourceLog", "Storage", "Version")
