"""The legacy token cleaner, as in kube-controller-manager: it deletes Secrets with tokens that are not used."""

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
