"""The legacy token cleaner, as kube-controller-manager has it: removes Secrets with tokens that nobody uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinformer.options import Deferred
from kinformer_controllers.legacytokencleaner.options import TokenCleanerOptions
from kinformer_controllers.legacytokencleaner.permissions import PERMISSIONS

if TYPE_CHECKING:
    from kinformer.manager import Runnable

__all__ = ("make_controller",)

make_controller: Deferred[Runnable] = Deferred(
    "kinformer_controllers.legacytokencleaner.controller:make_controller", TokenCleanerOptions, permissions=PERMISSIONS
)
