"""The ReplicationController controller, as kube-controller-manager has it."""

from __future__ import annotations

from kinformer_controllers.replicationcontroller.controller import ReplicationManager, make_controller

__all__ = ("ReplicationManager", "make_controller")
