"""An event handler that queues a Deployment when its last pod is gone, if its strategy is Recreate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kinformer.cache import Deleted, Indexer, last_state
from kinformer.controllerutil.owning import controller_of, owned_by
from kinformer.meta import SelectorError, label_selector_as_selector
from kinformer.models import V1Deployment, V1Pod, V1ReplicaSet
from kinformer_controllers.deployment.limits import RECREATE, strategy_of
from kinformer_controllers.deployment.replica_sets import DEPLOYMENT

__all__ = ("LastPodHandler", "selects")


class LastPodHandler:
    """
    An event handler for pods. When the last pod of a Deployment with the strategy Recreate is gone, it queues this
    Deployment.

    :param add: called with the Deployment's key
    """

    def __init__(
        self,
        add: Callable[[str], object],
        deployments: Indexer[V1Deployment],
        replica_sets: Indexer[V1ReplicaSet],
        pods: Indexer[V1Pod],
    ) -> None:
        self._add = add
        self._deployments = deployments
        self._replica_sets = replica_sets
        self._pods = pods

    def on_add(self, pod: V1Pod, is_in_initial_list: bool, /) -> None:
        """Do nothing: the ReplicaSet's status changes, and that queues the Deployment."""

    def on_update(self, old: V1Pod, new: V1Pod, /) -> None:
        """Do nothing: the ReplicaSet's status changes, and that queues the Deployment."""

    def on_delete(self, obj: Deleted[V1Pod], /) -> None:
        pod = last_state(obj)
        deployment = self._deployment_of(pod) if pod is not None else None
        if deployment is None or strategy_of(deployment) != RECREATE:
            return
        owned = owned_by(self._replica_sets, deployment, DEPLOYMENT.kind, orphans=False)
        if not any(owned_by(self._pods, each, "ReplicaSet", orphans=False) for each in owned):
            self._add(f"{deployment.metadata.namespace}/{deployment.metadata.name}")

    def _deployment_of(self, pod: V1Pod) -> V1Deployment | None:
        replica_set = _owner(pod, "ReplicaSet", self._replica_sets)
        return _owner(replica_set, DEPLOYMENT.kind, self._deployments) if replica_set is not None else None


def _owner(obj: Any, kind: str, owners: Indexer[Any]) -> Any:
    reference = controller_of(obj)
    if reference is None or reference.kind != kind:
        return None
    found = owners.get_by_key(f"{obj.metadata.namespace}/{reference.name}")
    return found if found is not None and found.metadata.uid == reference.uid else None


def selects(deployment: V1Deployment, replica_set: Any) -> bool:
    """Whether a Deployment's selector matches a ReplicaSet. An empty or an invalid selector matches nothing."""
    try:
        selector = label_selector_as_selector(deployment.spec.selector)
    except SelectorError:
        return False
    return not selector.is_empty and selector.matches(replica_set.metadata.labels)
