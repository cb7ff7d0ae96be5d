"""Informers shared by everybody in a process, and listers over them."""

from __future__ import annotations

from kinformer.informers.borrowed import Borrowed
from kinformer.informers.factory import InformerTypeConflict, SharedInformerFactory
from kinformer.informers.lister import Lister, NamespaceLister

__all__ = ("Borrowed", "InformerTypeConflict", "Lister", "NamespaceLister", "SharedInformerFactory")
