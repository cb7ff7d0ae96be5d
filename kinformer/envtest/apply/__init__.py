"""Managed fields (which field manager has set which field of an object) and server-side apply, which uses them."""

from __future__ import annotations

from kinformer.envtest.apply.applying import NotMergeable, apply_configuration, check_mergeable
from kinformer.envtest.apply.managed import (
    Entry,
    Managed,
    Manager,
    is_reset,
    note_change,
    note_new,
    read_entries,
)
from kinformer.envtest.apply.scopes import Scope, scope_of
from kinformer.envtest.apply.trees import Tree

__all__ = (
    "Entry",
    "Managed",
    "Manager",
    "NotMergeable",
    "Scope",
    "Tree",
    "apply_configuration",
    "check_mergeable",
    "is_reset",
    "note_change",
    "note_new",
    "read_entries",
    "scope_of",
)
