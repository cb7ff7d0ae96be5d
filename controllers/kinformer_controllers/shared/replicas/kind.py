"""ReplicaKind: the differences between ReplicaSets and ReplicationControllers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from kinformer.meta import GroupResource, GroupVersionKind, Selector, SelectorError
from kinformer.models import V1Pod, resource_for

__all__ = ("ReplicaKind", "desired_replicas")

R = TypeVar("R")


@dataclass(frozen=True)
class ReplicaKind(Generic[R]):
    """
    A kind of object that has a number of pods made from one template.

    :param model: the model of its objects
    :param status: the model of their status
    :param condition: the model of a condition in the status
    :param selector: returns an object's selector; raises :exc:`SelectorError` if it is invalid
    :param name: the controller's name
    :param component: the source component of its Events
    :param queue: the name of its queue in metrics
    :param tells_terminating: whether the status has ``terminatingReplicas``
    """

    model: type[R]
    status: type[Any]
    condition: type[Any]
    selector: Callable[[R], Selector]
    name: str
    component: str
    queue: str
    tells_terminating: bool
    gvk: GroupVersionKind = field(init=False)
    resource: GroupResource = field(init=False)

    def __post_init__(self) -> None:
        info = resource_for(self.model)
        object.__setattr__(self, "gvk", info.gvk)
        object.__setattr__(self, "resource", info.gvr.group_resource)

    def selects(self, owner: R, pod: V1Pod) -> bool:
        """Whether the owner's selector matches the pod. An empty or an invalid selector matches nothing."""
        try:
            selector = self.selector(owner)
        except SelectorError:
            return False
        return not selector.is_empty and selector.matches(pod.metadata.labels)


def desired_replicas(owner: Any) -> int:
    """Return the number of replicas in the spec; 1 if it is not set, as the server's default."""
    replicas: int | None = owner.spec.replicas
    return 1 if replicas is None else replicas
