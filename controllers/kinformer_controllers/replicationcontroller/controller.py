"""The ReplicationController controller: :mod:`kinformer_controllers.shared.replicas` for this kind.

ReplicationControllers have a map of labels as their selector, and no ``terminatingReplicas`` in their status.
"""

from __future__ import annotations

from typing import Final

from kinformer.manager import Controller, ControllerContext
from kinformer.meta import Selector, label_selector_as_selector
from kinformer.models import V1ReplicationController, V1ReplicationControllerCondition, V1ReplicationControllerStatus
from kinformer_controllers.replicationcontroller.spec import ReplicationControllerOptions
from kinformer_controllers.shared.replicas.controller import ReplicaController
from kinformer_controllers.shared.replicas.owners import ReplicaKind

__all__ = ("REPLICATION_CONTROLLERS", "make_controller")


def _selector(rc: V1ReplicationController) -> Selector:
    return label_selector_as_selector({"matchLabels": rc.spec.selector} if rc.spec.selector else None)


REPLICATION_CONTROLLERS: Final[ReplicaKind[V1ReplicationController]] = ReplicaKind(
    model=V1ReplicationController,
    status=V1ReplicationControllerStatus,
    condition=V1ReplicationControllerCondition,
    selector=_selector,
    name="replicationcontroller",
    component="replication-controller",
    queue="replicationmanager",
    tells_terminating=False,
)


def make_controller(context: ControllerContext) -> Controller:
    """The entry point ``replicationcontroller``."""
    options = context.read(ReplicationControllerOptions)
    return ReplicaController(
        context,
        REPLICATION_CONTROLLERS,
        workers=options.concurrent_rc_syncs,
        by_labels=not options.enable_garbage_collector,
    ).controller
