"""Informers shared by everybody in a process, and listers over them."""

from __future__ import annotations

from kinformer.informers.borrowed import Borrowed
from kinformer.informers.factory import InformerTypeConflict, Selection, SharedInformerFactory
from kinformer.informers.lister import Lister, NamespaceLister
from kinformer.informers.reader import NotCached, Reader

__all__ = (
    "Borrowed",
    "InformerTypeConflict",
    "Lister",
    "NamespaceLister",
    "NotCached",
    "Reader",
    "Selection",
    "SharedInformerFactory",
)
