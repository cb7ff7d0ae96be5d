"""The ReplicationController controller, as kube-controller-manager has it."""

from __future__ import annotations

from controllers.replication.controller import ReplicationManager, make_controller

__all__ = ("ReplicationManager", "make_controller")
