"""Informers shared by everybody in a process, and listers over them."""

from __future__ import annotations

from kinformer.informers.factory import InformerTypeConflict, SharedInformerFactory
from kinformer.informers.lister import Lister, NamespaceLister

__all__ = ("InformerTypeConflict", "Lister", "NamespaceLister", "SharedInformerFactory")
