"""The node IPAM controller: assigns each node a part of the cluster's network for its pods."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinformer.options import Deferred
from kinformer_controllers.nodeipam.options import NodeIpamOptions
from kinformer_controllers.nodeipam.permissions import PERMISSIONS

if TYPE_CHECKING:
    from kinformer.manager import Runnable

__all__ = ("make_controller",)

make_controller: Deferred[Runnable] = Deferred(
    "kinformer_controllers.nodeipam.controller:make_controller", NodeIpamOptions, permissions=PERMISSIONS
)
