"""The TTL controller: writes on each node how long its kubelet may cache Secrets and ConfigMaps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinformer.options import Deferred
from kinformer_controllers.ttl.permissions import PERMISSIONS

if TYPE_CHECKING:
    from kinformer.manager import Runnable

__all__ = ("make_controller",)

make_controller: Deferred[Runnable] = Deferred(
    "kinformer_controllers.ttl.controller:make_controller", permissions=PERMISSIONS
)
