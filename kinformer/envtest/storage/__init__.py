"""Storage: one linear history of versions, in memory, and also in a file if it is to last."""

from __future__ import annotations

from kinformer.envtest.storage.guest import Disturbed, Guest
from kinformer.envtest.storage.history import Change, Expired, ResourceLog, Version
from kinformer.envtest.storage.journal import Journal, JournalError
from kinformer.envtest.storage.store import LARGEST, Storage, first_version

__all__ = (
    "LARGEST",
    "Change",
    "Disturbed",
    "Expired",
    "Guest",
    "Journal",
    "JournalError",
    "ResourceLog",
    "Storage",
    "Version",
    "first_version",
)
