"""The ReplicaSet controller: :mod:`kinformer_controllers.shared.replicas` for this kind."""

from __future__ import annotations

from typing import Final

from kinformer.manager import Controller, ControllerContext
from kinformer.meta import Selector, label_selector_as_selector
from kinformer.models import V1ReplicaSet, V1ReplicaSetCondition, V1ReplicaSetStatus
from kinformer_controllers.replicaset.spec import ReplicaSetOptions
from kinformer_controllers.shared.replicas.controller import ReplicaController
from kinformer_controllers.shared.replicas.owners import ReplicaKind

__all__ = ("REPLICA_SETS", "make_controller")


def _selector(replica_set: V1ReplicaSet) -> Selector:
    return label_selector_as_selector(replica_set.spec.selector)


REPLICA_SETS: Final[ReplicaKind[V1ReplicaSet]] = ReplicaKind(
    model=V1ReplicaSet,
    status=V1ReplicaSetStatus,
    condition=V1ReplicaSetCondition,
    selector=_selector,
    name="replicaset",
    component="replicaset-controller",
    queue="replicaset",
    tells_terminating=True,
)


def make_controller(context: ControllerContext) -> Controller:
    """The entry point ``replicaset``."""
    workers = context.read(ReplicaSetOptions).concurrent_replicaset_syncs
    return ReplicaController(context, REPLICA_SETS, workers=workers).controller
