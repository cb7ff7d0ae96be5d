"""Informers that all controllers of a process share, and listers that read their caches."""

from __future__ import annotations

from kinformer.informers.borrowed import Borrowed
from kinformer.informers.factory import InformerTypeConflict, SharedInformerFactory
from kinformer.informers.lister import Lister, NamespaceLister
from kinformer.informers.reader import NotCached, Reader
from kinformer.informers.selection import Selection
from kinformer.informers.snapshot import Snapshot

__all__ = (
    "Borrowed",
    "InformerTypeConflict",
    "Lister",
    "NamespaceLister",
    "NotCached",
    "Reader",
    "Selection",
    "SharedInformerFactory",
    "Snapshot",
)
